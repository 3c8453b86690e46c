"""Seeing what decisions would do, with nothing written and so with nobody kept from writing."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from understudy.core.errors import DamagedRecord
from understudy.learnings.model import Candidate, Kind, Learning, LearningStatus
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.candidates import CandidateStore
    from understudy.storage.learnings import LearningStore
    from understudy.storage.unit import Unit, Units


def candidates_of(units: "Units", candidate_ids: Sequence[str]) -> Mapping[str, Candidate]:
    """Those that are there and can be read."""
    found: dict[str, Candidate] = {}
    with units.read() as unit:
        for candidate_id in candidate_ids:
            with suppress(DamagedRecord):
                candidate = unit.candidates.get(candidate_id)
                if candidate is not None:
                    found[candidate_id] = candidate
    return found


def as_if(unit: "Unit") -> "Unit":
    """A unit in which candidates can be decided: what that makes is seen in it, and nowhere else."""
    return cast("Unit", _AsIf(unit))


class _AsIf:
    """Everything as in the unit that it looks into, but for what a decision writes."""

    def __init__(self, unit: "Unit") -> None:
        self._unit = unit
        self.candidates = _Candidates(unit.candidates)
        self.learnings = _Learnings(unit.learnings)
        self.audit = _Nowhere()

    def afterwards(self, _act: object) -> None:
        """Nothing comes of it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._unit, name)


class _Nowhere:
    """Takes what is written down and keeps none of it."""

    def add(self, _entry: object) -> None:
        """Forget it."""


class _Candidates:
    """Candidates, each of which is decided once."""

    def __init__(self, store: "CandidateStore") -> None:
        self._store = store

    def get(self, candidate_id: str, *, lock: bool = False) -> Candidate | None:
        return self._store.get(candidate_id)

    def update(self, _candidate: Candidate, *, expected_version: int) -> None:
        """Nobody asks for it again."""


class _Learnings:
    """Learnings, with those among them that would be made."""

    def __init__(self, store: "LearningStore") -> None:
        self._store = store
        # The newest first, as the store answers.
        self._made: list[Learning] = []

    def hold(self, scope: LearningScope) -> None:
        """Nothing is written, so nobody has to wait."""

    def get(self, learning_id: str, *, lock: bool = False) -> Learning | None:
        return self._store.get(learning_id)

    def update(self, learning: Learning, *, expected_version: int) -> None:
        """What one decision ends, no other in the same request asks for."""

    def add(self, learning: Learning) -> None:
        self._made.insert(0, learning)

    def with_key(self, scope: LearningScope, kind: Kind, semantic_key: str) -> tuple[Learning, ...]:
        wanted = (scope, kind, semantic_key)
        made = (it for it in self._made if (it.scope, it.kind, it.semantic_key) == wanted)
        return (*made, *self._store.with_key(scope, kind, semantic_key))

    def about(
        self,
        kind: Kind,
        subject_key: str,
        *,
        limit: int,
        scopes: Sequence[LearningScope] | None = None,
    ) -> tuple[Learning, ...]:
        made = (
            it
            for it in self._made
            if (it.kind, it.subject_key, it.status) == (kind, subject_key, LearningStatus.ACTIVE)
            and (scopes is None or it.scope in scopes)
        )
        return (*made, *self._store.about(kind, subject_key, limit=limit, scopes=scopes))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
