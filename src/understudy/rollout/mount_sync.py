"""Has the files of promoted skills follow their records, once a change of these stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.errors import DamagedRecord, FieldError, UnderstudyError, coded_error
from understudy.guard.rule import Finding
from understudy.rollout.files import bundle_of, field_at, reads_back
from understudy.rollout.model import Definition, Rollout
from understudy.rollout.mount_keeper import MountKeeper
from understudy.rollout.stages import Stage
from understudy.skills.content_gate import ContentGuard

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounting:
    """Keeps mounted files in step with their records; the record is the authority."""

    units: "Units"
    keeper: MountKeeper
    guard: ContentGuard

    def check(self, definition: Definition) -> None:
        """Refuse what the content guard finds fault with, and what would not read back."""
        if not reads_back(definition):
            raise coded_error("rollout/unreadable_definition", pointer="/instructions")
        findings = self.guard.findings(bundle_of(definition))
        if findings:
            raise unsafe_definition(definition, findings)

    def digest(self, definition: Definition) -> str:
        """The digest that the files of a definition have."""
        return bundle_of(definition).digest

    def after(self, unit: "Unit", rollout: Rollout) -> None:
        """Have the files of a learning's skill follow once this unit has committed."""
        unit.after_commit(partial(self._follow, rollout.source_learning_id))

    def _follow(self, learning_id: str) -> None:
        """Look at the record as it is by now: commits may be heard of out of their order."""
        try:
            with self.keeper.lock:
                with self.units.read() as unit:
                    rollout = active_of(unit, learning_id)
                self.keeper.bring(learning_id, rollout, by_force=True)
        except Exception:
            # The change stands all the same; the next look brings the files in line.
            log.exception("rollout.files_not_followed", learning_id=learning_id)


def active_of(unit: "Unit", learning_id: str) -> Rollout | None:
    """The skill of a learning that is in force; one that cannot be read is not."""
    try:
        found = unit.rollouts.live_of(learning_id)
    except DamagedRecord:
        return None
    return found if found is not None and found.status is Stage.ACTIVE else None


# A caller is told this many findings.
MAX_FINDINGS: Final = 100


def unsafe_definition(definition: Definition, findings: Sequence[Finding]) -> UnderstudyError:
    """The content guard found something; each finding names the field that it stands in."""
    errors = tuple(
        FieldError(
            pointer=f"/{field_at(definition, one.path, one.line)}",
            code=one.rule_id,
            detail=one.reason,
        )
        for one in findings[:MAX_FINDINGS]
    )
    told = "; ".join(dict.fromkeys(f"{each.detail} ({each.code})" for each in errors))
    return coded_error("rollout/unsafe_definition", errors=errors, detail=told)
