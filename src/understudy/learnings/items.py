"""A candidate with everything that whoever decides on it should know."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.learnings.conflicts import conflict_with, contradictions, duplicate_of
from understudy.learnings.known import taken_back
from understudy.learnings.lifecycle import OPEN
from understudy.learnings.model import Candidate, Learning

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What a reviewer is shown; of a candidate that is decided, the candidate alone."""

    candidate: Candidate
    is_expired: bool = False
    # What has to be superseded for this to be published.
    conflict: Learning | None = None
    # What says otherwise in scopes that are seen together with this one.
    contradicts: tuple[Learning, ...] = ()
    # What says the same already; publishing adds nothing.
    duplicate_of: Learning | None = None
    # The same thing where a person said no, newest first.
    rejected_before: tuple[Candidate, ...] = ()
    # The same thing where a person took it back, newest first.
    revoked_before: tuple[Learning, ...] = ()


def item_of(unit: "Unit", candidate: Candidate, *, now_ms: int) -> Item:
    """What is known about a candidate now."""
    if candidate.state not in OPEN:
        return Item(candidate=candidate)
    return Item(
        candidate=candidate,
        is_expired=candidate.is_expired(now_ms),
        conflict=conflict_with(unit, candidate, now_ms=now_ms),
        contradicts=contradictions(unit, candidate, now_ms=now_ms),
        duplicate_of=duplicate_of(unit, candidate, now_ms=now_ms),
        rejected_before=unit.candidates.rejected_by_people(
            candidate.scope, candidate.kind, candidate.semantic_key
        ),
        revoked_before=taken_back(unit, candidate.scope, candidate.kind, candidate.semantic_key),
    )
