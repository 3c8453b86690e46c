"""How tools do blocking work: on a thread, to its end, and with words for what fails."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from understudy.core.errors import UnderstudyError
from understudy.tools.base import ToolError
from understudy.work.db_retry import finish_despite_db_outage

P = ParamSpec("P")
T = TypeVar("T")


async def run_blocking(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do blocking work to its end, so that a run that is stopped sees what it made.

    What stands against it is told to the model.
    """
    try:
        return await finish_despite_db_outage(work, *args, **kwargs)
    except UnderstudyError as problem:
        raise ToolError(problem.detail, code=problem.code) from problem
