"""Tools that stand in for others in some runs, as when a recording is played again."""

from typing import Protocol

from understudy.runs.execute import Execution
from understudy.runs.model import Run
from understudy.tools.registry import ToolRegistry


class StandIns(Protocol):
    """Somebody who may give a run other tools of the same names."""

    def concerns(self, run: Run) -> bool:
        """Whether it is worth asking; looks at nothing but the run."""
        ...

    def registry(self, execution: Execution, registry: ToolRegistry) -> ToolRegistry:
        """The tools of a run that is about to go on. Blocks."""
        ...


class NoStandIns:
    """Leaves every run its tools."""

    def concerns(self, run: Run) -> bool:
        """It is not."""
        return False

    def registry(self, execution: Execution, registry: ToolRegistry) -> ToolRegistry:
        """The same."""
        return registry
