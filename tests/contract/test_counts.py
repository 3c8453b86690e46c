"""Counts: exact after every commit, as time passes, and for each caller's visibility."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.candidate_factories import make_candidate
from tests.support.factories import NOW, make_agent, make_run, make_session
from tests.support.skill_factories import make_skill
from understudy.core.visibility import RowVisibility, current_visibility
from understudy.learnings.model import CandidateFilter, Kind, Sensitivity
from understudy.runs.model import RunStatus
from understudy.runs.requests import PersonRequest, RequestKind
from understudy.skills.model import SkillStatus
from understudy.storage.unit import Unit, Units


@pytest.fixture
def units(empty_database: UnitsOnDatabase) -> Units:
    with empty_database.units.write() as unit:
        unit.agents.add(make_agent())
        unit.sessions.add(make_session("s1", owner_id="ann"))
    return empty_database.units


def _request(number: int) -> PersonRequest:
    return PersonRequest(
        request_id=f"app_{number}",
        kind=RequestKind.APPROVAL,
        run_id="run_1",
        session_id="s1",
        call_key=f"call {number}",
        body={},
        created_at_ms=NOW,
    )


Act = Callable[[Unit], Any]
# What changes a count, and the count.
COUNTS: dict[str, tuple[Act, Act]] = {
    "runs": (
        lambda unit: unit.runs.add(make_run()),
        lambda unit: sum(unit.runs.counts().values()),
    ),
    "requests": (
        lambda unit: unit.requests.add(_request(_waiting(unit))),
        lambda unit: _waiting(unit),
    ),
    "open candidates": (
        lambda unit: unit.candidates.add(make_candidate()),
        lambda unit: unit.candidates.queue_length(now_ms=NOW),
    ),
    "candidates": (
        lambda unit: unit.candidates.add(make_candidate()),
        lambda unit: sum(each.count for each in unit.candidates.tallies()),
    ),
    "skills": (
        lambda unit: unit.skills.add(
            make_skill(f"skill-{unit.skills.counts()[SkillStatus.ACTIVE]}")
        ),
        lambda unit: unit.skills.counts()[SkillStatus.ACTIVE],
    ),
    "postponed run memories": (
        lambda unit: unit.run_memory_index.postpone(
            f"run_{unit.run_memory_index.counts().postponed + 1}", reason="", at_ms=NOW
        ),
        lambda unit: unit.run_memory_index.counts().postponed,
    ),
}


def _waiting(unit: Unit) -> int:
    return unit.requests.waiting_count((RequestKind.APPROVAL,), user_id="ann")


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_follows_every_commit(units: Units, name: str) -> None:
    change, count = COUNTS[name]
    with units.write() as unit:
        for number in (1, 2):
            unit.runs.add(make_run(run_id=f"run_{number}"))

    def counted() -> int:
        with units.read() as unit:
            return int(count(unit))

    first = counted()
    assert counted() == first
    for number in (1, 2):
        with units.write() as unit:
            change(unit)
            assert count(unit) == first + number
        assert counted() == counted() == first + number


def test_the_queue_of_review_changes_with_the_time_alone(units: Units) -> None:
    later = NOW + 10
    with units.write() as unit:
        for fields in (
            {},
            {"kind": Kind.PROCEDURE},
            {"expires_at_ms": later},
            {"snoozed_until_ms": later},
            {"snoozed_until_ms": later + 1},
            {"snoozed_until_ms": later + 1, "expires_at_ms": later},
            {"expires_at_ms": NOW},
        ):
            unit.candidates.add(make_candidate(**fields))

    def lengths(now_ms: int) -> tuple[int, int, int]:
        with units.read() as unit:
            first, following = unit.candidates.next_for_review(after=None, now_ms=now_ms)
            assert first is not None
            return (
                unit.candidates.queue_length(now_ms=now_ms),
                following,
                unit.candidates.queue_length(
                    now_ms=now_ms, narrowed=CandidateFilter(kind=Kind.PROCEDURE)
                ),
            )

    assert lengths(NOW) == (3, 2, 1)
    assert lengths(later) == (3, 2, 1)
    assert lengths(later + 1) == (4, 3, 1)


def test_a_count_of_everything_is_not_told_to_whoever_sees_less(units: Units) -> None:
    with units.write() as unit:
        unit.runs.add(make_run(run_id="run_1", user_id="ann"))
        unit.requests.add(_request(1))
        unit.candidates.add(make_candidate(sensitivity=Sensitivity.SENSITIVE))

    def counts() -> tuple[int, int, int]:
        with units.read() as unit:
            return (
                unit.runs.counts().get(RunStatus.QUEUED, 0),
                _waiting(unit),
                unit.candidates.queue_length(now_ms=NOW),
            )

    assert counts() == (1, 1, 1)
    with _seeing(RowVisibility(user_id="bob", sees_sensitive=False)):
        assert counts() == (0, 0, 0)
    with _seeing(RowVisibility(sees_sensitive=False)):
        assert counts() == (1, 1, 0)
    assert counts() == (1, 1, 1)


@contextmanager
def _seeing(visibility: RowVisibility) -> Iterator[None]:
    token = current_visibility.set(visibility)
    try:
        yield
    finally:
        current_visibility.reset(token)
