"""Who was told of which learning, and what automation made of candidates, on both databases."""

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from tests.contract.conftest import UnitsOnDatabase
from tests.support.candidate_factories import make_review
from tests.support.factories import NOW
from understudy.core.page import PageRequest, decode_cursor
from understudy.learnings.model import JudgeVerdict, LearningUse, ReviewAction
from understudy.storage.schema import learning_reviews
from understudy.storage.unit import Units


@pytest.fixture
def units(empty_database: UnitsOnDatabase) -> Units:
    return empty_database.units


def use(learning_id: str, run_id: str, at_ms: int = 0, version: int = 1) -> LearningUse:
    return LearningUse(
        learning_id=learning_id,
        learning_version=version,
        run_id=run_id,
        session_id="s1",
        at_ms=NOW + at_ms,
    )


def test_uses_are_noted_once_and_told_newest_first(units: Units) -> None:
    noted = [use("lrn_1", f"run_{n}", at_ms=n) for n in range(3)]
    with units.write() as unit:
        unit.learning_uses.add([*noted, use("lrn_2", "run_1", at_ms=5)])
        unit.learning_uses.add([use("lrn_1", "run_1", at_ms=99)])
        unit.learning_uses.add([use("lrn_1", "run_1", at_ms=7, version=2)])
        unit.learning_uses.add([])

    with units.read() as unit:
        uses = unit.learning_uses
        assert uses.of_learning("lrn_2", PageRequest()).items == (use("lrn_2", "run_1", at_ms=5),)
        assert (uses.count("lrn_1"), uses.count("lrn_2"), uses.count("lrn_3")) == (4, 1, 0)
        first = uses.of_learning("lrn_1", PageRequest(limit=2))
        assert first.items == (use("lrn_1", "run_1", at_ms=7, version=2), noted[2])
        assert first.next_cursor is not None
        after = PageRequest(limit=2, after=decode_cursor(first.next_cursor))
        rest = uses.of_learning("lrn_1", after)
        assert (rest.items, rest.next_cursor) == ((noted[1], noted[0]), None)


def test_reviews_are_kept_by_candidate_and_policy(units: Units) -> None:
    verdict = JudgeVerdict(action=ReviewAction.REJECT, judged_at_ms=NOW, reason="odd \0 \ud83d")
    first = make_review("Facts", judge=verdict)
    second = make_review(reviewed_at_ms=NOW + 1, reason="another")
    with units.write() as unit:
        unit.reviews.put("cand_1", "one", second)
        unit.reviews.put("cand_1", "one", first)
        unit.reviews.put("cand_1", "two", second)
        unit.reviews.put("cand_2", "one", second)

    with units.read() as unit:
        assert unit.reviews.get("cand_1", "one") == first
        assert unit.reviews.get("cand_1", "three") is None
        assert unit.reviews.of_candidate("cand_1") == (second, first)
        assert unit.reviews.of_candidate("cand_3") == ()


def test_a_review_that_cannot_be_read_is_none(empty_database: UnitsOnDatabase) -> None:
    units = empty_database.units
    with units.write() as unit:
        unit.reviews.put("cand_1", "one", make_review())
        unit.reviews.put("cand_1", "two", make_review())
    with empty_database.engine.begin() as connection:
        torn = sa.update(learning_reviews).where(learning_reviews.c.policy_digest == "one")
        connection.execute(torn.values(body={"mode": "none"}))

    with capture_logs() as logged, units.read() as unit:
        assert unit.reviews.get("cand_1", "one") is None
        assert unit.reviews.of_candidate("cand_1") == (make_review(),)
    assert [entry["event"] for entry in logged] == ["storage.record_damaged"] * 2
