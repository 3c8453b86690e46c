"""What the status says of a transaction that holds the streams over all sessions back."""

import pytest

from understudy.daemon.status import feed_warnings
from understudy.storage.feed import OldestWriter


@pytest.mark.parametrize("holder", [None, OldestWriter(pid=7, age_s=4.9)])
def test_what_holds_nothing_back_for_long_is_not_told_of(holder: OldestWriter | None) -> None:
    assert feed_warnings(holder) == []


@pytest.mark.parametrize(
    ("pid", "action"), [(7, "pg_terminate_backend(7)"), (None, "pg_prepared_xacts")]
)
def test_an_old_transaction_is_told_of_with_its_age_and_how_to_end_it(
    pid: int | None, action: str
) -> None:
    [told] = feed_warnings(OldestWriter(pid=pid, age_s=61.7))

    assert (told["code"], told["severity"]) == ("feed_held", "warning")
    assert " 61 s" in told["message"]
    assert action in told["action"]
