"""What a list of candidates or learnings is narrowed to, as conditions."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from understudy.learnings.filters import CandidateFilter, LearningFilter
from understudy.storage.engine import Dialect
from understudy.storage.schema import learning_candidates, learnings
from understudy.storage.search_text import folded


def candidate_conditions(
    narrowed: CandidateFilter, dialect: Dialect
) -> Iterator[sa.ColumnElement[bool]]:
    """What candidates must meet."""
    yield from _shared(learning_candidates, narrowed, dialect)
    yield from _equal((learning_candidates.c.state, narrowed.state))


def learning_conditions(
    narrowed: LearningFilter, dialect: Dialect
) -> Iterator[sa.ColumnElement[bool]]:
    """What learnings must meet."""
    yield from _shared(learnings, narrowed, dialect)
    yield from _equal(
        (learnings.c.status, narrowed.status),
        (learnings.c.policy_decision, narrowed.policy_decision),
        (learnings.c.actor_folded, _fold(narrowed.policy_actor)),
    )
    if narrowed.matched_rule_name is not None:
        yield sa.exists().where(
            learning_candidates.c.candidate_id == learnings.c.source_candidate_id,
            learning_candidates.c.rule_folded == folded(narrowed.matched_rule_name),
        )


def _shared(
    table: sa.Table, narrowed: CandidateFilter | LearningFilter, dialect: Dialect
) -> Iterator[sa.ColumnElement[bool]]:
    scope = narrowed.scope
    yield from _equal(
        (table.c.scope_key, None if scope is None else scope.key), (table.c.kind, narrowed.kind)
    )
    if narrowed.query is not None:
        yield dialect.contains(table.c.search, folded(narrowed.query))


def _equal(*wanted: tuple[sa.Column[Any], str | None]) -> Iterator[sa.ColumnElement[bool]]:
    for column, value in wanted:
        if value is not None:
            yield column == str(value)


def _fold(text: str | None) -> str | None:
    return None if text is None else folded(text)
