"""The services of what sessions and people do together: channels, projects, playbooks and flows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from understudy.channels.bridges import BridgeService
from understudy.channels.model import Channel, ChannelMessage
from understudy.channels.posting import Posting
from understudy.channels.service import ChannelService
from understudy.channels.stimuli import StimulusService
from understudy.channels.tools import TurnDesk
from understudy.channels.turns import Turns
from understudy.channels.worker import TOPIC, channel_topic
from understudy.core.principal import DAEMON, Principal
from understudy.daemon.resources import Resources
from understudy.memory.policy import policy_in
from understudy.memory.texts import Cleaner
from understudy.playbooks.flows import FlowService
from understudy.playbooks.service import PlaybookService
from understudy.playbooks.start import FlowStarter
from understudy.project_tasks.service import ProjectTaskService
from understudy.project_tasks.start import TaskStarter
from understudy.redaction.scrub import scrub
from understudy.runs.intake import RunIntake
from understudy.sessions.known_names import KnownNames
from understudy.sessions.projects import ProjectService
from understudy.sessions.task_service import TaskService

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

CancelRun: TypeAlias = Callable[[Principal, str], object]
ToolNames: TypeAlias = Callable[[], Sequence[str]]


class ChannelServices:
    """Channels: rooms, turns, stimuli, and the bridges to the outside."""

    def __init__(self, resources: Resources, intake: RunIntake, cancel_run: CancelRun) -> None:
        self._resources, self._cancel_run = resources, cancel_run
        units, clock = resources.units, resources.clock
        posting = Posting(clock=clock, posted=self._queue_for_bridges)
        self.bridges = BridgeService(
            units=units, clock=clock, posting=posting, changed=self.changed
        )
        self.turns = Turns(
            clock=clock, intake=intake, posting=posting, cancel_run=self._cancel_turn
        )
        self.service = ChannelService(
            units=units,
            clock=clock,
            posting=posting,
            arbitration=self.turns.for_message,
            changed=self.changed,
            cancel_run=self._cancel_turn,
        )
        self.stimuli = StimulusService(
            units=units, clock=clock, posting=posting, changed=self.changed
        )
        self.turn_desk = TurnDesk(units=units, clock=clock, scrub=self._scrub, changed=self.changed)

    def changed(self, channel_id: str) -> None:
        """Wake whoever waits for a channel."""
        self._resources.bell.ring(TOPIC, channel_topic(channel_id))

    def turn_ended(self) -> None:
        """Wake the worker that settles turns."""
        self._resources.bell.ring(TOPIC)

    def _cancel_turn(self, run_id: str) -> None:
        self._cancel_run(DAEMON, run_id)

    def _queue_for_bridges(self, unit: "Unit", channel: Channel, message: ChannelMessage) -> None:
        # Lazy: bridges post, and posts are queued for bridges.
        self.bridges.queue(unit, channel, message)

    def _scrub(self, text: str) -> str:
        secrets = (*self._resources.settings.secrets, *self.bridges.secrets())
        return scrub(text, literals=secrets)


class ProjectServices:
    """Projects, their tasks, and the starts of these."""

    def __init__(self, resources: Resources, intake: RunIntake, channels: ChannelServices) -> None:
        units, clock = resources.units, resources.clock
        self.service = ProjectService(units, clock, channels.service.mirror)
        self.tasks = ProjectTaskService(
            units=units, clock=clock, clean=partial(_clean_output, resources.settings.secrets)
        )
        self.starter = TaskStarter(
            tasks=self.tasks,
            intake=intake,
            posting=Posting(clock=clock),
            channel_changed=channels.changed,
        )


class FlowServices:
    """Playbooks, and the flows that are started from them."""

    def __init__(
        self,
        resources: Resources,
        intake: RunIntake,
        tasks: TaskService,
        names: KnownNames,
        tool_names: ToolNames,
        cancel_run: CancelRun,
    ) -> None:
        units, clock = resources.units, resources.clock
        self.playbooks = PlaybookService(
            units=units, clock=clock, tool_names=tool_names, names=names
        )
        self.starter = FlowStarter(units=units, clock=clock, intake=intake, tool_names=tool_names)
        self.service = FlowService(
            units=units, clock=clock, tasks=tasks, cancel_run=cancel_run, tool_names=tool_names
        )


def _clean_output(secrets: Sequence[str], unit: "Unit", text: str) -> str:
    """The output of a task, scrubbed as for run memory."""
    return Cleaner(literals=tuple(secrets), pii=policy_in(unit).redact_pii).clean(text).text
