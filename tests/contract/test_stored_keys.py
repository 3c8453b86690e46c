"""Keys that older rules made are made anew, a batch at a time."""

from collections.abc import Callable

import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.candidate_factories import make_candidate
from tests.support.learning_factories import make_learning
from understudy.learnings.keys import KEY_RULES, key_of
from understudy.learnings.model import Origin
from understudy.storage.learning_rows import digest_of
from understudy.storage.schema import learning_candidates, learnings

SAID = "回答要用中文"


def age(database: UnitsOnDatabase, table: sa.Table, *, body: Callable[[int], str]) -> None:
    """Give each row of a table the key that an older rule made."""
    with database.units.write() as unit:
        for at, row in enumerate(unit.connection.execute(sa.select(table)).all()):
            old = body(at)
            values = {
                "key_rules": KEY_RULES - 1,
                "key_digest": digest_of(old),
                "body": row.body | {"semantic_key": old, "subject_key": None},
            }
            (primary,) = table.primary_key
            unit.connection.execute(sa.update(table).where(primary == row[0]).values(values))


def test_keys_of_older_rules_are_made_anew_and_then_left_alone(database: UnitsOnDatabase) -> None:
    made, wanted = make_learning(SAID), key_of(SAID)
    with database.units.write() as unit:
        unit.learnings.add(made)
    age(database, learnings, body=lambda at: f"old {at}")
    with database.units.write() as unit:
        assert unit.learnings.with_key(made.scope, made.kind, wanted.semantic) == ()
        assert unit.learnings.renew_keys(limit=10) == 1
    with database.units.write() as unit:
        (found,) = unit.learnings.with_key(made.scope, made.kind, wanted.semantic)
        assert (found.semantic_key, found.subject_key) == (wanted.semantic, wanted.subject)
        assert found.version == made.version
        assert unit.learnings.renew_keys(limit=10) == 0


def test_what_a_stop_interrupts_goes_on_with_the_rest(database: UnitsOnDatabase) -> None:
    with database.units.write() as unit:
        for number in range(5):
            unit.learnings.add(make_learning(f"{SAID} {number}"))
    age(database, learnings, body=lambda at: f"old {at}")
    looked_at = []
    for _ in range(4):
        with database.units.write() as unit:
            looked_at.append(unit.learnings.renew_keys(limit=2))
    assert looked_at == [2, 2, 1, 0]


def test_a_candidate_that_would_become_the_twin_of_another_of_its_run_keeps_its_key(
    database: UnitsOnDatabase,
) -> None:
    first = make_candidate(SAID, origin=Origin.DAEMON)
    second = make_candidate("another thing", origin=Origin.DAEMON)
    with database.units.write() as unit:
        assert unit.candidates.add(first)
        assert unit.candidates.add(second)
    age(database, learning_candidates, body=lambda at: f"old {at}")
    with database.units.write() as unit:
        same = unit.connection.execute(sa.select(learning_candidates)).all()[0].body["content"]
        for row in unit.connection.execute(sa.select(learning_candidates)).all():
            unit.connection.execute(
                sa.update(learning_candidates)
                .where(learning_candidates.c.candidate_id == row.candidate_id)
                .values(body=row.body | {"content": same}, source_run_id="run_1")
            )
        assert unit.candidates.renew_keys(limit=10) == 2
    with database.units.read() as unit:
        rows = unit.connection.execute(sa.select(learning_candidates.c.key_digest)).scalars().all()
        assert len(set(rows)) == 2
        assert digest_of(key_of(same).semantic) in rows


# Statements of many forms. Whoever changes a rule and one of these keys raises `KEY_RULES`.
FORMS = (
    "Our main customer is Acme",
    "We no longer use Kafka",
    "The database will be MySQL",
    "I prefer tabs over spaces",
    "We moved the office to Ghent",
    "The standup is at 9:30",
    "Always answer in German",
    "Backups are disabled",
    "Ana is the release manager",
    "回答要用中文",
    "我们用 Postgres 做数据库",
    "备份已启用",
    "Văn phòng chính ở Đà Nẵng",
    "Tôi thích trà hơn cà phê",
    "Chúng tôi không dùng Kafka nữa",
    "Dự án được gọi là Atlas",
)
KEYS_OF_FORMS = (5, "17ace5a652dca32a")


def test_a_change_of_the_rules_raises_their_version() -> None:
    keys = "\n".join(f"{key_of(it).semantic} / {key_of(it).subject}" for it in FORMS)
    assert (KEY_RULES, digest_of(keys)[:16]) == KEYS_OF_FORMS, (
        "the rules of keys have changed: raise KEY_RULES, then set KEYS_OF_FORMS"
    )
