"""When an active skill does worse than it did."""

from collections import Counter
from collections.abc import Sequence
from itertools import count, cycle

import pytest

from understudy.rollout.model import Stage
from understudy.rollout.outcome import SkillOutcome, SuccessTally, UseOutcome, tally_of
from understudy.rollout.regression import (
    FIRST_USES,
    LEAST_USES,
    LOOKED_AT,
    NOTHING,
    RECENT_USES,
    UseHistory,
    regression_of,
)

GOOD, BAD, STOPPED = SkillOutcome.SUCCEEDED, SkillOutcome.FAILED, SkillOutcome.ABANDONED
ONE = SuccessTally(successes=1, tries=1)


def used(outcomes: Sequence[SkillOutcome], sessions: Sequence[str] = ("s1",)) -> list[UseOutcome]:
    """Uses one after the other, in these sessions by turns."""
    return [
        UseOutcome(
            skill_name="release-notes",
            fingerprint="f" * 64,
            run_id=f"run_{number}",
            session_id=f"below {session}",
            root_session_id=session,
            stage=Stage.ACTIVE,
            outcome=outcome,
            used_at_ms=number,
            ended_at_ms=number,
        )
        for number, outcome, session in zip(count(), outcomes, cycle(sessions), strict=False)
    ]


def watching(uses: Sequence[UseOutcome], *, since: int = 0, **shown: SuccessTally) -> UseHistory:
    """What a store would tell after these uses, oldest first."""
    speaking = [it for it in uses if it.outcome is not STOPPED]
    recent = [it for it in speaking if it.used_at_ms >= since]
    return UseHistory(
        first=tuple(speaking[:RECENT_USES]),
        recent=tuple(reversed(recent[-LOOKED_AT:])),
        **shown,
    )


def watch(*outcomes: SkillOutcome, since: int = 0, **shown: SuccessTally) -> UseHistory:
    """The same of one session."""
    return watching(used(outcomes), since=since, **shown)


def test_a_skill_that_keeps_on_failing_after_a_good_start_does_worse() -> None:
    found = regression_of(watch(*[GOOD] * FIRST_USES, *[BAD] * LEAST_USES))

    assert found is not None
    assert found.detail == (
        "0 of its last 10 runs succeeded, which is below its baseline of 10 of 10"
    )


def test_a_skill_that_does_as_it_did_does_not() -> None:
    assert regression_of(watch(*[GOOD, GOOD, GOOD, BAD] * 10)) is None


def test_a_few_failures_say_nothing() -> None:
    assert regression_of(watch(*[GOOD] * FIRST_USES, *[BAD] * (LEAST_USES - 1))) is None


def test_a_rate_that_is_lower_by_chance_is_not_worse() -> None:
    assert regression_of(watch(*[GOOD] * FIRST_USES, *[GOOD, GOOD, GOOD, BAD] * 5)) is None


def test_what_fails_from_its_first_day_is_measured_by_the_canary() -> None:
    shown = SuccessTally(successes=5, tries=5)

    found = regression_of(watch(*[BAD] * LEAST_USES, tried=shown))

    assert found is not None
    assert found.baseline == shown


def test_a_replay_counts_as_the_canary_does() -> None:
    found = regression_of(watch(*[BAD] * LEAST_USES, replayed=SuccessTally(successes=8, tries=8)))
    assert found is not None
    assert found.baseline == SuccessTally(successes=8, tries=8)


def test_what_somebody_says_counts_only_where_nothing_was_executed() -> None:
    said = SuccessTally(successes=9, tries=9)
    assert watch(attested=said).shown == said
    assert watch(attested=said, tried=ONE).shown == ONE
    assert watch(attested=said, replayed=ONE).shown == ONE
    assert watch().shown == NOTHING


def test_the_first_runs_raise_what_it_is_measured_by_and_never_lower_it() -> None:
    assert watch(*[GOOD] * 30, attested=ONE).baseline == SuccessTally(successes=11, tries=11)
    assert watch(*[BAD] * 30, attested=ONE).baseline == ONE
    shown = SuccessTally(successes=20, tries=20)
    assert watch(*[GOOD] * 5, *[BAD] * 5, tried=shown).baseline == shown


@pytest.mark.parametrize("shown", [NOTHING, ONE, SuccessTally(successes=0, tries=9)])
@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ([BAD] * 9, None),
        ([BAD] * 10, "0 of its first 10 runs succeeded, so it fails more often than not"),
        ([GOOD] + [BAD] * 9, "1 of its first 10 runs succeeded, so it fails more often than not"),
        ([GOOD] * 2 + [BAD] * 8, None),
        (
            [GOOD, BAD, BAD, BAD] * 5,
            "5 of its first 20 runs succeeded, so it fails more often than not",
        ),
    ],
)
def test_what_fails_more_often_than_not_at_first_is_worse_whatever_it_had_shown(
    outcomes: list[SkillOutcome], words: str | None, shown: SuccessTally
) -> None:
    found = regression_of(watch(*outcomes, attested=shown))
    assert (None if found is None else found.detail) == words


def test_who_let_it_go_on_has_seen_its_first_runs() -> None:
    assert regression_of(watch(*[BAD] * 19, since=10)) is None
    assert regression_of(watch(*[BAD] * 40, since=20)) is None
    assert regression_of(watch(*[BAD] * 40, since=20, attested=ONE)) is not None


def test_what_somebody_stopped_counts_for_nothing() -> None:
    assert regression_of(watch(*[GOOD] * FIRST_USES, *[STOPPED] * 40)) is None
    assert tally_of(used([GOOD, STOPPED, BAD])) == SuccessTally(successes=1, tries=2)


def test_only_the_newest_runs_are_measured() -> None:
    mended = [GOOD] * FIRST_USES + [BAD] * 9 + [GOOD] * RECENT_USES
    assert regression_of(watch(*mended)) is None


def test_the_failed_runs_are_named_newest_first() -> None:
    assert watch(GOOD, BAD, GOOD, BAD).failed_run_ids == ("run_3", "run_1")


@pytest.mark.parametrize("bad", range(10))
def test_more_failures_never_make_it_look_better(bad: int) -> None:
    def is_worse(number: int) -> bool:
        recent = [BAD] * number + [GOOD] * (10 - number)
        return regression_of(watch(*[GOOD] * FIRST_USES, *recent)) is not None

    assert is_worse(bad + 1) >= is_worse(bad)
    assert is_worse(10)


def test_one_session_does_not_speak_for_all() -> None:
    others = [f"s{number}" for number in range(FIRST_USES)]
    start = used([GOOD] * FIRST_USES, others)
    attack = used([STOPPED] * FIRST_USES + [BAD] * 60, ["mallory"])

    assert regression_of(watching([*start, *attack], tried=ONE)) is None


def test_a_few_sessions_have_their_share_each() -> None:
    assert len(watch(*[BAD] * 40).lately) == RECENT_USES
    for number, share in [(2, 10), (4, 5), (7, 2), (15, 1)]:
        sessions = [f"s{each}" for each in range(number)]
        kept = watching(used([BAD] * 90, sessions)).lately
        assert Counter(it.root_session_id for it in kept) == dict.fromkeys(sessions, share)


def test_two_sessions_that_see_it_fail_do_not_speak_for_a_third() -> None:
    def found(*seen: SkillOutcome) -> bool:
        start = used([GOOD] * FIRST_USES)
        later = used([STOPPED] * 12 + [*seen] * 10, ["s1", "s2", "s3"])
        return regression_of(watching([*start, *later], tried=ONE)) is not None

    assert found(BAD, BAD, BAD)
    assert not found(BAD, BAD, GOOD)
    assert not found(GOOD, BAD, GOOD)


def test_the_newest_of_a_session_counts() -> None:
    sessions = [f"s{number}" for number in range(12)]
    mended = used([*[GOOD] * 12, *[BAD] * 24, *[GOOD] * 12], sessions)
    assert tally_of(watching(mended).lately) == SuccessTally(successes=12, tries=12)
