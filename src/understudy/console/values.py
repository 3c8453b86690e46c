"""Values of records as pages show them, by field name and type."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

# The page path for each field that holds an id.
PAGES: Final[Mapping[str, str]] = {
    "agent_id": "/agents/{}",
    "candidate_id": "/review/{}",
    "created_by_run_id": "/runs/{}",
    "duplicate_of": "/learnings/{}",
    "flow_id": "/flows/{}",
    "latest_run_id": "/runs/{}",
    "learning_id": "/learnings/{}",
    "parent_run_id": "/runs/{}",
    "playbook_id": "/playbooks/{}",
    "primary_session_id": "/sessions/{}",
    "project_id": "/projects/{}",
    "published_learning_id": "/learnings/{}",
    "run_id": "/runs/{}",
    "session_id": "/sessions/{}",
    "skill_id": "/skills/{}",
    "skill_name": "/rollouts/{}",
    "source_candidate_id": "/review/{}",
    "superseded_by": "/learnings/{}",
    "supersedes": "/learnings/{}",
    "target_session_id": "/sessions/{}",
}
# Fields whose values are enum members.
WORDS: Final = frozenset(
    {
        "action",
        "applies",
        "kind",
        "mode",
        "origin",
        "overlap_policy",
        "outcome",
        "policy_decision",
        "publish_tier",
        "role",
        "severity",
        "sensitivity",
        "stage",
        "state",
        "status",
        "type",
        "verification_status",
        "visibility",
    }
)
# The tone of an enum value: good, in progress, needs attention, bad.
TONES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("active", "completed", "published", "verified", "ok", "done", "allow"), "good"
    ),
    **dict.fromkeys(("running", "queued", "canary", "provisional", "waiting"), "busy"),
    **dict.fromkeys(("pending", "escalated", "warning", "sensitive", "draft"), "look"),
    **dict.fromkeys(("waiting_for_approval", "waiting_for_user_question", "ask"), "look"),
    **dict.fromkeys(
        ("failed", "rejected", "revoked", "refused", "error", "cancelled", "deny"), "bad"
    ),
}
LONG_CHARS: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One value of a record: its label and kind of display."""

    name: str
    # empty, time, link, word, flag, text, long, list, record, table
    kind: str
    value: Any
    href: str = ""
    tone: str = ""

    @property
    def label(self) -> str:
        """The field's name without its unit, to be translated."""
        return self.name.removesuffix("_at_ms").removesuffix("_ms")


def shown(name: str, value: Any) -> Shown:
    """The kind of display for a value."""
    if value is None or value in ("", [], {}):
        return Shown(name=name, kind="empty", value=None)
    if name.endswith("_at_ms") and isinstance(value, int):
        return Shown(name=name, kind="time", value=value)
    if isinstance(value, bool):
        return Shown(name=name, kind="flag", value=value)
    if isinstance(value, Mapping):
        return _record(name, value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        kind = "table" if all(isinstance(each, Mapping) for each in value) else "list"
        return Shown(name=name, kind=kind, value=value)
    if name in PAGES:
        return Shown(
            name=name, kind="link", value=value, href=PAGES[name].format(quote(str(value), safe=""))
        )
    if name in WORDS:
        return Shown(name=name, kind="word", value=value, tone=TONES.get(str(value), ""))
    text = str(value)
    is_long = len(text) > LONG_CHARS or "\n" in text
    return Shown(name=name, kind="long" if is_long else "text", value=text)


def fields(record: Mapping[str, Any], *, without: Sequence[str] = ()) -> Iterator[Shown]:
    """The non-empty values of a record, in the order of its declaration."""
    for name, value in record.items():
        if name not in without and (one := shown(name, value)).kind != "empty":
            yield one


def _record(name: str, value: Mapping[str, Any]) -> Shown:
    if set(value) == {"kind", "id"}:
        return Shown(name=name, kind="text", value=f"{value['kind']}:{value['id']}")
    return Shown(name=name, kind="record", value=value)
