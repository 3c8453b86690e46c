"""What the runs of an attempt amount to."""

from understudy.rollout.evidence import NOTHING, Counts, EvidenceSums


def test_nothing_amounts_to_nothing() -> None:
    counts = NOTHING.every
    assert counts == NOTHING.executed == Counts()
    assert (counts.verification_status, counts.real_daemon_verified) == ("unverified", False)


def test_one_success_verifies() -> None:
    counts = Counts(successful_run_count=1)
    assert (counts.verification_status, counts.real_daemon_verified) == ("verified", True)


def test_only_what_was_executed_counts_where_that_is_asked_but_every_failure_does() -> None:
    every = Counts(successful_run_count=3, canary_success_count=2, canary_failure_count=4)
    sums = EvidenceSums(
        every=every, executed=Counts(successful_run_count=1, canary_failure_count=1)
    )

    assert sums.under(executed_only=False) == every
    assert sums.under(executed_only=True) == Counts(successful_run_count=1, canary_failure_count=4)
