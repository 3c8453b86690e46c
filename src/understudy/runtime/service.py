"""Change the runtime document, look back, roll back."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from understudy.core import audit
from understudy.core.audit import AuditStore
from understudy.core.clock import Clock
from understudy.core.errors import NotFound, StaleVersion
from understudy.core.principal import Principal
from understudy.runtime.model import MAX_REVISIONS, Revision

INITIAL = Revision(revision=1, updated_at_ms=0, actor="daemon", setting="initial")


class RevisionStore(Protocol):
    """Revisions by number."""

    def latest(self) -> Revision | None: ...

    def get(self, revision: int) -> Revision | None: ...

    def all(self) -> tuple[Revision, ...]:
        """Kept revisions, newest first."""
        ...

    def add(self, revision: Revision, *, keep: int) -> bool:
        """Store the next revision and drop the oldest past `keep`; False when the number is taken."""
        ...


class RuntimeUnit(Protocol):
    """One transaction over the runtime document."""

    @property
    def revisions(self) -> RevisionStore: ...

    @property
    def audit(self) -> AuditStore: ...


class RuntimeUnits(Protocol):
    """Opens transactions."""

    def read(self) -> AbstractContextManager[RuntimeUnit]: ...

    def write(self) -> AbstractContextManager[RuntimeUnit]: ...


class HasRevisions(Protocol):
    """A transaction that sees the runtime document."""

    @property
    def revisions(self) -> RevisionStore: ...


def current_revision(unit: HasRevisions) -> Revision:
    """The document in force."""
    return unit.revisions.latest() or INITIAL


@dataclass(frozen=True, slots=True)
class RuntimeService:
    """The one place that changes the runtime document."""

    units: RuntimeUnits
    clock: Clock

    def current(self) -> Revision:
        """The document in force."""
        with self.units.read() as unit:
            return current_revision(unit)

    def revisions(self) -> tuple[Revision, ...]:
        """The kept revisions, newest first."""
        with self.units.read() as unit:
            kept = unit.revisions.all()
        # The first one is not stored: it is what every daemon begins with.
        return (*kept, INITIAL) if not kept or kept[-1].revision == 2 else kept

    def change(
        self,
        principal: Principal,
        changes: Mapping[str, Any],
        *,
        expected_revision: int | None = None,
    ) -> Revision:
        """Merge `changes` into the document; the same values again make no revision."""
        with self.units.write() as unit:
            current = self._expect(unit, expected_revision)
            document = {**current.document, **changes}
            if document == current.document:
                return current
            return self._add(unit, principal, current, document, ",".join(sorted(changes)))

    def roll_back(
        self,
        principal: Principal,
        target_revision: int | None,
        *,
        expected_revision: int | None = None,
    ) -> Revision:
        """Bring an earlier document back as a new revision; the one before when none is named."""
        with self.units.write() as unit:
            current = self._expect(unit, expected_revision)
            wanted = target_revision if target_revision is not None else current.revision - 1
            target = unit.revisions.get(wanted) or (INITIAL if wanted == 1 else None)
            if target is None:
                raise NotFound(
                    "runtime_revision_not_found", domain="runtime", detail=f"no revision {wanted}"
                )
            return self._add(
                unit, principal, current, target.document, "rollback", rollback_of=wanted
            )

    def _expect(self, unit: RuntimeUnit, expected: int | None) -> Revision:
        current = current_revision(unit)
        if expected is not None and expected != current.revision:
            raise StaleVersion(
                "runtime_revision_conflict",
                domain="runtime",
                detail=f"expected revision {expected}, but it is {current.revision}",
                params={"revision": current.revision},
            )
        return current

    def _add(
        self,
        unit: RuntimeUnit,
        principal: Principal,
        current: Revision,
        document: Mapping[str, Any],
        setting: str,
        *,
        rollback_of: int | None = None,
    ) -> Revision:
        revision = Revision(
            revision=current.revision + 1,
            updated_at_ms=self.clock.now_ms(),
            actor=principal.actor,
            setting=setting,
            document=document,
            rollback_of_revision=rollback_of,
        )
        if not unit.revisions.add(revision, keep=MAX_REVISIONS):
            raise StaleVersion(
                "runtime_revision_conflict", domain="runtime", detail="changed meanwhile"
            )
        unit.audit.add(
            audit.done(
                principal,
                "runtime.rollback" if rollback_of else "runtime.change",
                setting,
                at_ms=revision.updated_at_ms,
                version=revision.revision,
            )
        )
        return revision
