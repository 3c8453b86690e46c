"""Ids by their beginning: for people who type a part of one, or mean the newest of their own."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.core.principal import Principal, Role
from understudy.core.records import Omitted
from understudy.core.text import preview

if TYPE_CHECKING:
    from understudy.storage.unit import Units

LABEL_CHARS: Final = 80


class IdKind(StrEnum):
    """The kinds of records whose ids people type."""

    RUN = "run"
    SESSION = "session"
    LEARNING = "learning"
    CANDIDATE = "candidate"
    SKILL = "skill"
    AGENT = "agent"
    PERSONA = "persona"
    PROJECT = "project"
    CHANNEL = "channel"
    SCHEDULE = "schedule"
    APPROVAL = "approval"
    QUESTION = "question"
    ASSET = "asset"
    FLOW = "flow"
    BACKGROUND_TASK = "background_task"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownId:
    """The id of a record, and what distinguishes it for a reader."""

    id: str
    label: Omitted[str] = None
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIds:
    """The ids with a prefix, newest first."""

    items: tuple[KnownId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdSearch:
    """Finds the ids of the records that a caller may see."""

    units: "Units"

    def find(
        self, principal: Principal, kind: IdKind, *, prefix: str, mine: bool, limit: int
    ) -> KnownIds:
        """The newest records of a kind whose ids begin so."""
        # No id has other characters, and PostgreSQL takes no NUL.
        if not prefix.isprintable():
            return KnownIds(items=())
        is_admin = principal.role.includes(Role.ADMIN)
        with self.units.read() as unit:
            found = unit.ids.newest(
                kind,
                prefix=prefix,
                of_user=principal.user_id if mine else None,
                seen_by=None if is_admin else principal.user_id,
                limit=limit,
            )
        return KnownIds(
            items=tuple(
                KnownId(id=row_id, label=_line(label), at_ms=at_ms)
                for row_id, label, at_ms in found
            )
        )


def _line(label: str | None) -> str | None:
    return preview(" ".join(label.split()), LABEL_CHARS) if label else None
