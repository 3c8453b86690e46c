"""The runtime document: its revisions, changes and rollback."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.core.records import OMIT

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAX_REVISIONS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The runtime document after one change."""

    revision: int
    updated_at_ms: int
    actor: str
    setting: str
    document: Mapping[str, Any] = field(default_factory=dict)
    rollback_of_revision: Annotated[int | None, OMIT] = None


INITIAL = Revision(revision=1, updated_at_ms=0, actor="daemon", setting="initial")


def current_revision(unit: "Unit") -> Revision:
    """The document in force."""
    return unit.revisions.latest() or INITIAL


def kept_revisions(unit: "Unit") -> tuple[Revision, ...]:
    """The stored revisions, newest first."""
    kept = unit.revisions.all()
    # Revision 1 is not stored: every daemon begins with it.
    return (*kept, INITIAL) if not kept or kept[-1].revision == 2 else kept


@dataclass(frozen=True, slots=True)
class RuntimeService:
    """The only writer of the runtime document."""

    units: "Units"
    clock: Clock
    # Called with the old and the new revision in the transaction that makes it; an exception
    # prevents it.
    hooks: tuple[Callable[["Unit", Revision, Revision], None], ...] = ()

    def current(self) -> Revision:
        """The document in force."""
        with self.units.read() as unit:
            return current_revision(unit)

    def revisions(self) -> tuple[Revision, ...]:
        """The stored revisions, newest first."""
        with self.units.read() as unit:
            return kept_revisions(unit)

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
        only: str | None = None,
    ) -> Revision:
        """Restore an earlier document as a new revision; by default the previous one.

        With `only`, one setting is restored and the others stay; the previous one is then the
        newest in which that setting differed.
        """
        with self.units.write() as unit:
            current = self._expect(unit, expected_revision)
            if target_revision is not None:
                target = _named(unit, target_revision)
            elif only is not None:
                target = _before(unit, current, only)
            else:
                target = _named(unit, current.revision - 1)
            document = target.document
            if only is not None:
                others = {name: it for name, it in current.document.items() if name != only}
                document = {**others, **({only: document[only]} if only in document else {})}
            return self._add(
                unit,
                principal,
                current,
                document,
                only or "rollback",
                rollback_of=target.revision,
            )

    def _expect(self, unit: "Unit", expected: int | None) -> Revision:
        current = current_revision(unit)
        if expected is not None and expected != current.revision:
            raise coded_error(
                "runtime/runtime_revision_conflict", revision=current.revision, expected=expected
            )
        return current

    def _add(
        self,
        unit: "Unit",
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
            raise coded_error("runtime/runtime_revision_conflict:raced")
        unit.audit.add(
            audit.done(
                principal,
                "runtime.rollback" if rollback_of else "runtime.change",
                setting,
                at_ms=revision.updated_at_ms,
                version=revision.revision,
            )
        )
        for hook in self.hooks:
            hook(unit, current, revision)
        return revision


def _named(unit: "Unit", wanted: int) -> Revision:
    target = unit.revisions.get(wanted) or (INITIAL if wanted == INITIAL.revision else None)
    if target is None:
        raise coded_error("runtime/runtime_revision_not_found", revision=wanted)
    return target


def _before(unit: "Unit", current: Revision, setting: str) -> Revision:
    """The newest revision in which a setting differed from its current value."""
    now = current.document.get(setting)
    for revision in kept_revisions(unit):
        if revision.document.get(setting) != now:
            return revision
    raise coded_error("runtime/runtime_revision_not_found:other_setting", setting=setting)
