"""A change of the run-memory policy takes hold before it is committed, or is not made."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from understudy.core.errors import Unavailable, coded_error
from understudy.memory.maintenance import Maintenance
from understudy.memory.policy import RUN_MEMORY_POLICY, RunMemoryPolicy
from understudy.memory.report import MaintenanceTrigger
from understudy.runtime.model import Revision

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def policy_hook(maintenance: Maintenance) -> Callable[["Unit", Revision, Revision], None]:
    """What the runtime service calls in the transaction of a new revision."""

    def enforce(unit: "Unit", before: Revision, after: Revision) -> None:
        setting = RUN_MEMORY_POLICY.setting
        if before.document.get(setting) == after.document.get(setting):
            return
        take_hold(unit, maintenance, RUN_MEMORY_POLICY.stored(after.document))

    return enforce


def take_hold(unit: "Unit", maintenance: Maintenance, policy: RunMemoryPolicy) -> None:
    """Remove what a policy does not allow, or tell that it has not taken hold."""
    try:
        maintenance.rebuild(unit, policy, MaintenanceTrigger.RUNTIME_POLICY)
    except Unavailable as problem:
        raise coded_error(
            "runtime/run_memory_maintenance_failed", problem=problem.detail
        ) from problem
