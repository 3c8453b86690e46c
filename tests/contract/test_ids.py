"""Which ids begin so, newest first, for whom, on both databases."""

import pytest

from tests.contract.test_visibility import seen_by
from tests.support.factories import NOW, make_run, make_session
from tests.support.learning_factories import make_learning
from tests.support.skill_factories import make_skill
from understudy.core.principal import Principal, Role
from understudy.learnings.model import Sensitivity
from understudy.retrieval.ids import IdKind, IdSearch
from understudy.skills.model import SkillStatus
from understudy.storage.unit import Units

ADA = Principal(user_id="ada", role=Role.OPERATOR)
ADMIN = Principal(user_id="root", role=Role.ADMIN)


@pytest.fixture
def filled(units: Units) -> Units:
    """Two runs of Ada and one of Bob, whose ids do not sort by time."""
    with units.write() as unit:
        for user_id in ("ada", "bob"):
            unit.sessions.add(make_session(f"of-{user_id}", owner_id=user_id))
        for run_id, user_id, later_ms in (
            ("run_b1", "ada", 0),
            ("run_a2", "ada", 10),
            ("run_B3", "bob", 20),
        ):
            at_ms = NOW + later_ms
            fields = {"run_id": run_id, "user_id": user_id, "submitted_at_ms": at_ms}
            unit.runs.add(make_run(f"of-{user_id}", **fields))
    return units


def found(
    units: Units,
    kind: IdKind = IdKind.RUN,
    *,
    prefix: str = "",
    mine: bool = False,
    limit: int = 9,
    caller: Principal = ADA,
) -> list[str]:
    answer = IdSearch(units=units).find(caller, kind, prefix=prefix, mine=mine, limit=limit)
    return [known.id for known in answer.items]


def test_the_newest_come_first_whatever_their_ids(filled: Units) -> None:
    assert found(filled) == ["run_B3", "run_a2", "run_b1"]
    assert found(filled, limit=1) == ["run_B3"]


@pytest.mark.parametrize(
    ("prefix", "ids"),
    [
        ("run_b", ["run_b1"]),
        ("run_B", ["run_B3"]),
        ("run%", []),
        ("run_b12", []),
        ("_", []),
        ("run_\0", []),
    ],
)
def test_a_prefix_is_text_and_not_a_pattern(filled: Units, prefix: str, ids: list[str]) -> None:
    assert found(filled, prefix=prefix) == ids


def test_ones_own_are_those_one_submitted_or_owns(filled: Units) -> None:
    assert found(filled, mine=True) == ["run_a2", "run_b1"]
    assert found(filled, IdKind.SESSION, mine=True) == ["of-ada"]


def test_what_a_caller_may_not_see_is_not_found(filled: Units) -> None:
    with seen_by("bob"):
        assert found(filled) == ["run_B3"]
        assert found(filled, prefix="run_b1") == []


def test_a_label_tells_records_apart(filled: Units) -> None:
    answer = IdSearch(units=filled).find(ADA, IdKind.RUN, prefix="run_b", mine=False, limit=1)
    assert [(known.label, known.at_ms) for known in answer.items] == [("hello", NOW)]


def test_a_sensitive_learning_is_not_found_by_those_who_may_not_read_it(units: Units) -> None:
    with units.write() as unit:
        unit.learnings.add(make_learning(learning_id="lrn_x", sensitivity=Sensitivity.SENSITIVE))
    assert found(units, IdKind.LEARNING, prefix="lrn_") == ["lrn_x"]
    with seen_by(None, sees_sensitive=False):
        assert found(units, IdKind.LEARNING, prefix="lrn_") == []


def test_a_skill_is_found_by_those_who_see_it_until_it_is_deleted(units: Units) -> None:
    with units.write() as unit:
        unit.skills.add(make_skill(skill_id="skl_1", owner_id="bob"))
        unit.skills.add(make_skill("gone", skill_id="skl_2", status=SkillStatus.DELETED))
    assert found(units, IdKind.SKILL) == []
    assert found(units, IdKind.SKILL, caller=ADMIN) == ["skl_1"]


@pytest.mark.parametrize("kind", IdKind)
def test_every_kind_can_be_asked_for(units: Units, kind: IdKind) -> None:
    assert isinstance(found(units, kind, prefix="no-such", mine=True), list)
