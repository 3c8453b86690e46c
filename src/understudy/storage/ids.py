"""The ids of a kind by their beginning, with a label from the row of each."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from understudy.retrieval.ids import IdKind
from understudy.runs.requests import RequestKind
from understudy.skills.model import SkillStatus
from understudy.storage import schema as t
from understudy.storage.granted_skills import visible_to
from understudy.storage.visibility import OWNED
from understudy.storage.visible_connection import VisibleConnection

Label: TypeAlias = Callable[[Any], object]


def _at(*path: str) -> Label:
    """The value at a path of a JSON column."""

    def read(value: Any) -> object:
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    return read


def _question(body: Any) -> object:
    asked = _at("questions")(body)
    return _at("question")(asked[0]) if isinstance(asked, list) and asked else None


def _same(value: Any) -> object:
    return value


@dataclass(frozen=True, slots=True)
class _Source:
    """The columns of a kind: id, time, and the label as a column and what is read of it."""

    id: sa.Column[str]
    at_ms: sa.Column[int]
    column: sa.Column[Any]
    label: Label = _same
    where: tuple[sa.ColumnElement[bool], ...] = ()

    @property
    def table(self) -> Any:
        return self.id.table

    def of_user(self, user_id: str) -> Iterator[sa.ColumnElement[bool]]:
        """The records of a user, where records of the kind belong to one."""
        if self.table in OWNED:
            yield OWNED[self.table](self.table.c, user_id)
        elif "owner_id" in self.table.c:
            yield self.table.c.owner_id == user_id


def _source(table: sa.Table, at: str, column: str, *path: str, **more: Any) -> _Source:
    [key] = table.primary_key.columns
    label = _at(*path) if path else _same
    return _Source(key, table.c[at], table.c[column], **{"label": label, **more})


def _requests(kind: RequestKind, **more: Any) -> _Source:
    where = (t.requests.c.kind == str(kind),)
    return _source(t.requests, "created_at_ms", "body", "tool_name", where=where, **more)


_SOURCES: Final[Mapping[IdKind, _Source]] = {
    IdKind.RUN: _source(t.runs, "submitted_at_ms", "wanted", "request", "text_preview"),
    IdKind.SESSION: _source(t.sessions, "created_at_ms", "agent_id"),
    IdKind.LEARNING: _source(t.learnings, "published_at_ms", "body", "content"),
    IdKind.CANDIDATE: _source(t.learning_candidates, "created_at_ms", "body", "content"),
    IdKind.SKILL: _source(
        t.skills,
        "created_at_ms",
        "slug",
        where=(t.skills.c.status != str(SkillStatus.DELETED),),
    ),
    IdKind.AGENT: _source(t.agents, "created_at_ms", "display_name"),
    IdKind.PERSONA: _source(t.personas, "created_at_ms", "display_name"),
    IdKind.PROJECT: _source(t.projects, "created_at_ms", "body", "display_name"),
    IdKind.CHANNEL: _source(t.channels, "created_at_ms", "title"),
    IdKind.SCHEDULE: _source(t.schedules, "created_at_ms", "name"),
    IdKind.APPROVAL: _requests(RequestKind.APPROVAL),
    IdKind.QUESTION: _requests(RequestKind.QUESTION, label=_question),
    IdKind.ASSET: _source(t.assets, "created_at_ms", "file_name"),
    IdKind.FLOW: _source(t.flows, "created_at_ms", "playbook_id"),
    IdKind.BACKGROUND_TASK: _source(t.background_tasks, "created_at_ms", "body", "command"),
}


class IdStore:
    """The ids of records."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def newest(
        self, kind: IdKind, *, prefix: str, of_user: str | None, seen_by: str | None, limit: int
    ) -> tuple[tuple[str, str | None, int], ...]:
        """The newest ids of a kind with a prefix, each with its label and its time.

        `of_user` narrows to the records of a user; `seen_by` to the skills that a user sees.
        """
        source = _SOURCES[kind]
        query = (
            sa.select(source.id, source.column, source.at_ms)
            .where(*source.where)
            .order_by(source.at_ms.desc(), source.id.desc())
            .limit(limit)
        )
        if prefix:
            # Not by order: PostgreSQL may sort ids by the rules of a language.
            query = query.where(sa.func.substr(source.id, 1, len(prefix)) == prefix)
        if of_user is not None:
            query = query.where(*source.of_user(of_user))
        if kind is IdKind.SKILL and seen_by is not None:
            query = query.where(*visible_to(seen_by))
        rows = self._connection.execute(query).all()
        return tuple((row_id, _text(source.label(value)), at_ms) for row_id, value, at_ms in rows)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
