"""A request for a run: its checks, its reply targets, and its idempotency receipt."""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from understudy.agents.model import MAX_TOOL_ITERATIONS
from understudy.assets.contents import digest
from understudy.assets.model import AssetDraft
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.i18n.locales import from_accept_language, locale_of
from understudy.permissions.model import CallRule
from understudy.runs.model import DebugLevel, InputItem, Receipt, Run, RunKind, require_run
from understudy.sessions.model import ReplyTarget
from understudy.tools.addresses import LOOPBACK, PRIVATE, SHARED, Address, blocked_by, explain

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_KEY_BYTES: Final = 256
REPLY_PLUGINS: Final = frozenset({"local", "http"})
WEB_SCHEMES: Final = frozenset({"http", "https"})
# Fields that fingerprints of earlier versions do not contain.
LATER: Final = frozenset(
    {"binding_keys", "locale", "fallback_model", "skill_fingerprint", "daemon_metadata", "preview"}
)
# A webhook receiver is often on this machine or in the private network.
ALLOWED: Final = frozenset({None, LOOPBACK, PRIVATE, SHARED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A request for a run, as received."""

    content: str = ""
    # A draft is an inline file; it becomes an asset together with the run.
    input_items: tuple[InputItem | AssetDraft, ...] = ()
    # Ids of assets, and drafts as above.
    attachments: tuple[str | AssetDraft, ...] = ()
    # Keys that are bound to the session from now on.
    binding_keys: tuple[str, ...] | None = None
    provider: str | None = None
    generation: Mapping[str, Any] = field(default_factory=dict)
    source_plugin: str = "daemon"
    source_kind: str = "api"
    actor_id: str = "api-user"
    metadata: object = None
    reply_targets: tuple[ReplyTarget, ...] | None = None
    max_tool_iterations: int | None = None
    debug_level: DebugLevel | None = None
    kind: RunKind = RunKind.INPUT
    # What lists and titles show of it; by default the beginning of its text.
    preview: str | None = None
    # Language of the daemon's own texts in the run; by default from `accept_language` or the token.
    locale: str | None = None
    accept_language: str | None = None
    # Set by the daemon only: a fallback model, and the promoted skill that the run executes.
    fallback_model: str | None = None
    skill_fingerprint: str | None = None
    # Also by the daemon only: tools that the run and its sidechains are denied, and metadata stored
    # beside the caller's.
    denied: tuple[CallRule, ...] = ()
    daemon_metadata: Mapping[str, Any] | None = None


def items_of(submission: Submission) -> Mapping[str, InputItem | AssetDraft]:
    """The input items in order, by their JSON pointer in the request; at least one."""
    if submission.input_items and (submission.content or submission.attachments):
        raise coded_error("runs/input_mixed", pointer="/input_items")
    items: dict[str, InputItem | AssetDraft] = {
        f"/input_items/{index}": item for index, item in enumerate(submission.input_items)
    }
    if submission.content.strip():
        items["/content"] = InputItem(type="text", text=submission.content)
    for index, given in enumerate(submission.attachments):
        items[f"/attachments/{index}"] = (
            given
            if isinstance(given, AssetDraft)
            else InputItem(type="asset_reference", asset_id=given, given_as="attachment")
        )
    if all(_is_blank(item) for item in items.values()):
        raise coded_error("runs/input_empty", pointer="/content")
    return items


def request_json(submission: Submission) -> dict[str, Any]:
    """The request as it is fingerprinted, to recognise a repeat."""
    asked = asdict(submission)
    for item in asked["input_items"]:
        # Set at intake, not by the caller; fingerprints of earlier versions do not contain it.
        item.pop("given_as", None)
    # A header is no part of the request, and denied tools are not set by the caller.
    del asked["accept_language"], asked["denied"]
    return {name: value for name, value in asked.items() if value is not None or name not in LATER}


def language_of(submission: Submission, principal: Principal) -> str | None:
    """The language of the request, or of its caller; None when neither sets one."""
    if submission.locale:
        return locale_of(submission.locale)
    return from_accept_language(submission.accept_language) or principal.locale


def _is_blank(item: InputItem | AssetDraft) -> bool:
    if isinstance(item, AssetDraft) or item.type != "text":
        return False
    return not (item.text or "").strip()


def check_limits(submission: Submission) -> None:
    """Raise `Invalid` for a limit out of range or an unusable reply target."""
    limit = submission.max_tool_iterations
    if limit is not None and not 1 <= limit <= MAX_TOOL_ITERATIONS:
        raise coded_error(
            "runs/invalid_max_tool_iterations",
            pointer="/max_tool_iterations",
            max_tool_iterations=MAX_TOOL_ITERATIONS,
        )
    check_reply_targets(submission.reply_targets or ())


def check_reply_targets(targets: tuple[ReplyTarget, ...]) -> tuple[ReplyTarget, ...]:
    """The reply targets, or `Invalid` for one that cannot be delivered to."""
    for index, target in enumerate(targets):
        if target.plugin not in REPLY_PLUGINS or not target.address.strip():
            raise coded_error("sessions/invalid_reply_target", pointer=f"/reply_targets/{index}")
        if target.plugin == "http" and not _is_web_address(target.address):
            raise coded_error(
                "sessions/invalid_reply_target:address",
                pointer=f"/reply_targets/{index}/address",
            )
        if target.plugin == "http" and (reason := _refused_host(target.address)):
            raise coded_error(
                "sessions/invalid_reply_target:host",
                pointer=f"/reply_targets/{index}/address",
                reason=reason,
            )
    return targets


def _is_web_address(address: str) -> bool:
    """Whether an address is an http(s) URL with a host and without credentials."""
    if any(char.isspace() or not char.isprintable() for char in address):
        return False
    try:
        url = urlsplit(address)
        named = bool(url.hostname) and url.port != 0
    except ValueError:
        return False
    return named and url.scheme in WEB_SCHEMES and "@" not in url.netloc


def _refused_host(address: str) -> str | None:
    """Why the host of a checked URL is blocked; None when it is not, or is a name."""
    return host_refused_because(urlsplit(address).hostname or "")


def refused_because(address: Address) -> str | None:
    """Why an IP address is blocked for webhooks; None when it is allowed."""
    reason = blocked_by(address)
    return None if reason in ALLOWED or reason is None else explain(reason)


def host_refused_because(host: str) -> str | None:
    """Why a host that is an IP address is blocked; a name is checked when it is resolved."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return refused_because(address)


def receipt_for(
    principal: Principal,
    operation: str,
    request: Mapping[str, Any],
    *,
    key: str | None,
    at_ms: int,
) -> Receipt | None:
    """The receipt of a request, not stored yet; None without an idempotency key."""
    if key is None:
        return None
    return Receipt(
        key_hash=hash_key(principal.user_id, check_idempotency_key(key)),
        fingerprint=fingerprint(operation, request),
        resource_id="",
        created_at_ms=at_ms,
    )


def known_run(unit: "Unit", receipt: Receipt | None) -> Run | None:
    """The run of the first request under the same key; a conflict if that was another request."""
    known = None if receipt is None else unit.receipts.get(receipt.key_hash)
    if known is None or receipt is None:
        return None
    if known.fingerprint != receipt.fingerprint:
        raise coded_error("idempotency/idempotency_conflict")
    return require_run(unit, known.resource_id)


def keep_receipt(unit: "Unit", receipt: Receipt | None, run: Run) -> None:
    """Store the receipt: which run the key created."""
    if receipt is not None and not unit.receipts.add(replace(receipt, resource_id=run.run_id)):
        raise coded_error("idempotency/idempotency_conflict")


def check_idempotency_key(key: str) -> str:
    """The trimmed key, or `Invalid` when it is empty, too long or has control characters."""
    trimmed = key.strip()
    if (
        not trimmed
        or len(trimmed.encode(errors="surrogatepass")) > MAX_KEY_BYTES
        or any(unicodedata.category(char) in ("Cc", "Cs") for char in trimmed)
    ):
        raise coded_error(
            "idempotency/invalid_idempotency_key",
            pointer="/idempotency_key",
            max_key_bytes=MAX_KEY_BYTES,
        )
    return trimmed


def hash_key(user_id: str, key: str) -> str:
    """The stored hash of an idempotency key; it depends on the user, too."""
    return hashlib.sha256(f"{user_id}\0{key}".encode()).hexdigest()


def fingerprint(operation: str, request: Mapping[str, Any]) -> str:
    """A digest of a request, to tell a repeat from another request under the same key."""
    document = {"version": 1, "operation": operation, "request": request}
    text = json.dumps(document, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> str:
    """A JSON value for other types; bytes of a file are represented by their digest."""
    return digest(value) if isinstance(value, bytes) else str(value)
