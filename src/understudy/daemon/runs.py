"""The parts of runs, given what they work with."""

from understudy.daemon.ground import Ground
from understudy.runs.approvals import ApprovalService, CheckInput
from understudy.runs.intake import RunIntake
from understudy.runs.model import EndingHook
from understudy.runs.questions import QuestionService
from understudy.runs.service import RunService
from understudy.runs.sidechain_links import SidechainLinks
from understudy.runs.sidechains import SidechainService
from understudy.runs.upkeep import Upkeep


class RunPlane:
    """One of each; what takes runs in is there before, since trials begin runs and hear of their end."""

    def __init__(
        self,
        ground: Ground,
        intake: RunIntake,
        run_ended: EndingHook,
        check_input: CheckInput,
    ) -> None:
        units, clock = ground.units, ground.clock
        self.sidechain_links = SidechainLinks(
            units=units, clock=clock, intake=intake, run_ended=run_ended
        )
        self.service = RunService(
            units=units,
            clock=clock,
            intake=intake,
            signal_stop=ground.signals.request,
            run_ended=run_ended,
        )
        self.sidechains = SidechainService(
            units=units, clock=clock, intake=intake, cancel_run=self.service.cancel
        )
        self.questions = QuestionService(units, clock)
        self.approvals = ApprovalService(units, clock, check_input)
        self.upkeep = Upkeep(
            units=units,
            clock=clock,
            engine=ground.engine,
            signals=ground.signals,
            exclusively=units.exclusively,
        )
