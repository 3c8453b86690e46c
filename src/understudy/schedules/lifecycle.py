"""Which status of a schedule may follow which."""

from typing import Final

from understudy.core.machine import Machine
from understudy.schedules.model import ScheduleStatus

_S = ScheduleStatus

SCHEDULE: Final = Machine(
    name="schedule",
    domain="schedules",
    conflict_code="schedule_state_conflict",
    steps={
        _S.ACTIVE: frozenset({_S.PAUSED, _S.COMPLETED, _S.CANCELED}),
        _S.PAUSED: frozenset({_S.ACTIVE, _S.COMPLETED, _S.CANCELED}),
        _S.COMPLETED: frozenset(),
        _S.CANCELED: frozenset(),
    },
)
OPEN: Final = frozenset(_S) - SCHEDULE.terminal
