"""What a schedule does and when, as JSON and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from understudy.assets.model import AssetDraft
from understudy.runs.model import DebugLevel, InputItem, RunKind
from understudy.runs.submission import Submission
from understudy.schedules.model import Cadence, Cron, Interval, Once
from understudy.sessions.model import ReplyTarget
from understudy.storage.columns import optional_object

CADENCES: Final[Mapping[str, type[Cadence]]] = {"once": Once, "interval": Interval, "cron": Cron}
# Parts of a request that are kept as they are.
PLAIN: Final = (
    "provider",
    "source_plugin",
    "source_kind",
    "actor_id",
    "max_tool_iterations",
)


def cadence_json(cadence: Cadence) -> dict[str, Any]:
    """A cadence with its type."""
    [name] = [name for name, kind in CADENCES.items() if isinstance(cadence, kind)]
    return {"type": name, **asdict(cadence)}


def read_cadence(stored: Mapping[str, Any]) -> Cadence:
    """A cadence by its type."""
    fields = {name: value for name, value in stored.items() if name != "type"}
    return CADENCES[stored["type"]](**fields)


def request_json(request: Submission) -> dict[str, Any]:
    """A request whose files are assets already."""
    targets = request.reply_targets
    level = request.debug_level
    return {
        **{name: getattr(request, name) for name in PLAIN},
        "kind": str(request.kind),
        "input_items": [
            asdict(item) for item in request.input_items if not isinstance(item, AssetDraft)
        ],
        "generation": dict(request.generation),
        "metadata": request.metadata,
        "reply_targets": None if targets is None else [asdict(target) for target in targets],
        "debug_level": None if level is None else str(level),
        "locale": request.locale,
    }


def read_request(stored: Mapping[str, Any]) -> Submission:
    """The request, with reply targets only if it names some."""
    targets, level = stored["reply_targets"], stored["debug_level"]
    return Submission(
        **{name: stored[name] for name in PLAIN},
        kind=RunKind(stored["kind"]),
        input_items=tuple(InputItem(**item) for item in stored["input_items"]),
        generation=optional_object(stored["generation"]) or {},
        metadata=optional_object(stored["metadata"]),
        reply_targets=None
        if targets is None
        else tuple(ReplyTarget(**target) for target in targets),
        debug_level=None if level is None else DebugLevel(level),
        # Schedules of an older version have none.
        locale=stored.get("locale"),
    )
