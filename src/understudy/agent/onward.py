"""Whether a tool that is at work may go on to something that the call did not name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.agent.gate import Gatekeeper
from understudy.permissions.model import CallVerdict, PermissionDecision
from understudy.runs.model import require_run
from understudy.tools.base import Tool, ToolContext, ToolError
from understudy.work.db_retry import retry_while_db_down

if TYPE_CHECKING:
    from understudy.storage.unit import Units


@dataclass(frozen=True, slots=True)
class Onward:
    """Judges what a tool comes across by the same rules as a call of its own."""

    units: "Units"
    gatekeeper: Gatekeeper

    async def __call__(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        context: ToolContext,
        *,
        began_as: Mapping[str, Any] | None,
    ) -> None:
        """Raise a `ToolError` unless a call with these arguments would simply run.

        What a person agreed to covers the site it was about: `began_as` is that call.
        """
        verdict = await retry_while_db_down(self._judge, tool, arguments, context.run_id)
        named = ", ".join(map(str, arguments.values()))
        match verdict.decision:
            case PermissionDecision.DENY:
                raise ToolError(
                    f"it leads on to {named}, which is denied: {verdict.reason}",
                    code="redirect_denied",
                )
            case PermissionDecision.ASK if began_as is not None and await self._was_asked(
                tool, began_as, context
            ):
                return
            case PermissionDecision.ASK:
                raise ToolError(
                    f"it leads on to {named}, and that must be approved: call {tool.name} for "
                    f"it if it is needed ({verdict.reason})",
                    code="redirect_needs_approval",
                )
            case PermissionDecision.ALLOW:
                return

    async def _was_asked(
        self, tool: Tool, began_as: Mapping[str, Any], context: ToolContext
    ) -> bool:
        verdict = await retry_while_db_down(self._judge, tool, began_as, context.run_id)
        return verdict.decision is PermissionDecision.ASK

    def _judge(self, tool: Tool, arguments: Mapping[str, Any], run_id: str) -> CallVerdict:
        with self.units.read() as unit:
            run = require_run(unit, run_id)
            (verdict,) = self.gatekeeper.judge(unit, run, [(tool, arguments)])
            return verdict
