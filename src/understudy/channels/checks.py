"""Validation of channels, members, policies, messages and reactions."""

import unicodedata
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from understudy.channels.model import (
    LEAST,
    MAX_EMOJI_CHARS,
    MAX_POLICY_COUNT,
    MAX_POLICY_MS,
    AutonomyPolicy,
    ChannelMember,
    DisplayNameMode,
)
from understudy.core.errors import coded_error
from understudy.core.ids import check_caller_id
from understudy.core.records import MAX_METADATA_BYTES, JsonObject, fits_metadata
from understudy.sessions.model import MemberKind

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Metadata keys of the daemon: the run and turn of a message, the bridge it came over.
RESERVED: Final = frozenset({"source_run_id", "turn_id", "bridge_id", "external_id", "stimulus_id"})


def named(name: str, *, field: str) -> str:
    """A trimmed title or name, or `Invalid` when it is not readable."""
    trimmed = name.strip()
    if not trimmed or not trimmed.isprintable():
        raise coded_error("channels/name_invalid", pointer=f"/{field}", field=field)
    return trimmed


def namesake(unit: "Unit", channel_id: str, name: str, *, of: str | None = None) -> str | None:
    """The id of another member with a display name that reads the same; `of` does not count."""
    wanted = _as_read(name)
    names = unit.channels.names(channel_id)
    return next((key for key, known in names if key != of and _as_read(known) == wanted), None)


def _as_read(name: str) -> str:
    """A name without what hardly shows: case, width and the number of blanks."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def check_policy(policy: AutonomyPolicy) -> AutonomyPolicy:
    """The policy, or `Invalid` for a number that is out of range."""
    for name, value in asdict(policy).items():
        least = LEAST.get(name, 0)
        most = MAX_POLICY_MS if "_ms" in name else MAX_POLICY_COUNT
        if not least <= value <= most:
            raise coded_error(
                "channels/policy_invalid",
                pointer=f"/autonomy_policy/{name}",
                field=name,
                value=value,
                least=least,
                most=most,
            )
    return policy


def checked_member(member: ChannelMember) -> dict[str, Any]:
    """The fields of a member that depend on its kind, or `Invalid` for one it may not have."""
    check_caller_id(member.member_id, field="member_id", domain="channels")
    display_name = named(member.display_name, field="display_name")
    if member.member_kind is MemberKind.SESSION:
        if member.actor_id is not None:
            raise coded_error("channels/member_invalid:session", pointer="/actor_id")
        return {"display_name": display_name, "session_id": member.session_id or member.member_id}
    follows = member.display_name_mode is DisplayNameMode.FOLLOW_AGENT
    if member.session_id is not None or follows:
        wrong = "/display_name_mode" if follows else "/session_id"
        raise coded_error("channels/member_invalid:person", pointer=wrong)
    actor_id = member.actor_id or member.member_id
    check_caller_id(actor_id, field="actor_id", domain="channels")
    return {"display_name": display_name, "actor_id": actor_id}


def check_metadata(metadata: JsonObject) -> None:
    """Refuse metadata that is too long, or reserved for the daemon."""
    if not fits_metadata(metadata):
        raise coded_error(
            "channels/metadata_too_large", pointer="/metadata", limit_bytes=MAX_METADATA_BYTES
        )
    for name in RESERVED & set(metadata):
        raise coded_error("channels/metadata_reserved", pointer=f"/metadata/{name}", name=name)


def check_emoji(emoji: str) -> str:
    """One emoji or short name such as `:+1:`, or `Invalid`."""
    # A joiner is a format character, and part of many emoji.
    odd = any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp", "Zs"} for char in emoji)
    if not emoji or odd or len(emoji) > MAX_EMOJI_CHARS:
        raise coded_error("channels/emoji_invalid", pointer="/emoji", limit=MAX_EMOJI_CHARS)
    return emoji
