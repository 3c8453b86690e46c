"""Which status of a run may follow which."""

from typing import Final

from understudy.core.machine import Machine
from understudy.runs.model import RunStatus

_S = RunStatus

RUN: Final = Machine(
    name="run",
    domain="runs",
    conflict_code="run_state_conflict",
    steps={
        _S.QUEUED: frozenset({_S.RUNNING, _S.FAILED, _S.CANCELLED}),
        _S.RUNNING: frozenset(
            {
                _S.WAITING_FOR_APPROVAL,
                _S.WAITING_FOR_USER_QUESTION,
                _S.COMPLETED,
                _S.FAILED,
                _S.INTERRUPTED,
                _S.CANCELLED,
            }
        ),
        _S.WAITING_FOR_APPROVAL: frozenset({_S.RUNNING, _S.FAILED, _S.INTERRUPTED, _S.CANCELLED}),
        _S.WAITING_FOR_USER_QUESTION: frozenset(
            {_S.RUNNING, _S.COMPLETED, _S.FAILED, _S.INTERRUPTED, _S.CANCELLED}
        ),
        _S.COMPLETED: frozenset(),
        _S.FAILED: frozenset(),
        _S.INTERRUPTED: frozenset(),
        _S.CANCELLED: frozenset(),
    },
)
TERMINAL: Final = RUN.terminal
WAITING: Final = frozenset({_S.WAITING_FOR_APPROVAL, _S.WAITING_FOR_USER_QUESTION})
ACTIVE: Final = frozenset({_S.RUNNING}) | WAITING
