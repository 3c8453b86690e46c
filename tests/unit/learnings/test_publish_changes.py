"""What a candidate is published as, where whoever publishes it says nothing or something else."""

import pytest

from tests.support.factories import NOW
from understudy.learnings.model import Candidate, CapturePath, Kind, Origin
from understudy.learnings.proposal import NewCandidate, make_candidate
from understudy.learnings.publication import PublishChanges, with_changes
from understudy.sessions.learning_scopes import WORKSPACE

ENDS = NOW + 1000
ASKED = {CapturePath.USAGE, CapturePath.ROLLOUT}


def found_by(path: CapturePath) -> Candidate:
    wanted = NewCandidate(
        scope=WORKSPACE,
        kind=Kind.PROCEDURE,
        content="Make a skill of it",
        expires_at_ms=ENDS,
        capture_path=path,
    )
    return make_candidate(wanted, origin=Origin.DAEMON, now_ms=NOW)


@pytest.mark.parametrize("path", CapturePath)
def test_what_people_are_asked_has_a_deadline_that_what_they_publish_does_not_inherit(
    path: CapturePath,
) -> None:
    expected = None if path in ASKED else ENDS

    assert with_changes(found_by(path), PublishChanges()).expires_at_ms == expected


@pytest.mark.parametrize("path", CapturePath)
def test_an_end_that_somebody_gives_counts_for_every_candidate(path: CapturePath) -> None:
    assert (
        with_changes(found_by(path), PublishChanges(expires_at_ms=ENDS + 7)).expires_at_ms
        == ENDS + 7
    )
