"""Stored learnings and candidates get the keys of the rule of today."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from tests.support.candidate_factories import make_candidate
from tests.support.learning_factories import make_learning
from understudy.learnings.keys import key_of
from understudy.storage.engine import open_engine
from understudy.storage.learning_rows import (
    candidate_row,
    digest_of,
    learning_row,
    read_candidate,
    read_learning,
)
from understudy.storage.migrate import alembic_config, migrate
from understudy.storage.schema import learning_candidates, learnings


@pytest.fixture
def engine(database_url: str) -> Iterator[sa.Engine]:
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


def upgraded_from(engine: sa.Engine, revision: str, rows: Mapping[str, list[Any]]) -> None:
    """Bring an empty database to a revision, insert rows there, and go on to the newest one."""
    with engine.connect() as connection:
        command.upgrade(alembic_config(connection), revision)
        for name, values in rows.items():
            table = sa.Table(name, sa.MetaData(), autoload_with=connection)
            known = [{it: row[it] for it in row if it in table.c} for row in values]
            body = [{**row, "body": json.dumps(row["body"])} for row in known]
            connection.execute(sa.insert(table), body)
        connection.commit()
    migrate(engine)


def with_key(record: Any, semantic: str, subject: str | None = None) -> Any:
    return replace(record, semantic_key=semantic, subject_key=subject)


def test_stored_keys_are_those_of_the_rule_of_today(engine: sa.Engine) -> None:
    said = "I have moved to Ghent."
    learning = with_key(make_learning(said), "i have moved to ghent")
    proposed = with_key(make_candidate(said), "i have moved to ghent")
    upgraded_from(
        engine,
        "0020",
        {
            "learnings": [learning_row(learning)],
            "learning_candidates": [candidate_row(proposed)],
        },
    )

    with engine.connect() as connection:
        [stored] = connection.execute(sa.select(learnings)).all()
        [candidate] = connection.execute(sa.select(learning_candidates)).all()
    key = key_of(said)
    assert key.subject is not None
    assert read_learning(stored) == with_key(learning, key.semantic, key.subject)
    assert read_candidate(candidate) == with_key(proposed, key.semantic, key.subject)
    assert stored.subject_digest == digest_of(key.subject)
    assert stored.key_digest == candidate.key_digest == digest_of(key.semantic)


def test_two_candidates_of_a_run_that_would_share_a_key_stay_apart(engine: sa.Engine) -> None:
    wordings = ("We don't ship to Canada.", "We do not ship to Canada.")
    assert len({key_of(it).semantic for it in wordings}) == 1
    proposed = [with_key(make_candidate(it, run_id="run_1"), it.lower()) for it in wordings]
    upgraded_from(engine, "0020", {"learning_candidates": [candidate_row(it) for it in proposed]})

    with engine.connect() as connection:
        keys = [it.key_digest for it in connection.execute(sa.select(learning_candidates))]
    assert len(set(keys)) == 2
    assert digest_of(key_of(wordings[0]).semantic) in keys


def test_more_rows_than_a_batch_holds_get_their_keys_and_damaged_ones_stay(
    engine: sa.Engine,
) -> None:
    rows = [learning_row(with_key(make_learning("The gym opens at 6."), "?")) for _ in range(1001)]
    torn = {**learning_row(make_learning("Torn")), "body": ["torn"], "key_digest": "torn"}
    upgraded_from(engine, "0020", {"learnings": [*rows, torn]})

    with engine.connect() as connection:
        digests = Counter(it.key_digest for it in connection.execute(sa.select(learnings)))
    assert digests == {digest_of(key_of("The gym opens at 6.").semantic): 1001, "torn": 1}
