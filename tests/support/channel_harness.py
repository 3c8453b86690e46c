"""Channels on a database, with a clock that the test moves and runs that it ends itself."""

from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.factories import ADMIN, make_session
from tests.support.schedule_harness import Catalogue, Intake
from understudy.channels.model import (
    Channel,
    ChannelMember,
    ChannelMessage,
    TurnLease,
    TurnOutput,
)
from understudy.channels.posting import NewChannelMessage, Posting
from understudy.channels.service import ChannelService
from understudy.channels.stimuli import StimulusService
from understudy.channels.turns import Turns
from understudy.channels.worker import ChannelDuty
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.runs.intake import RuntimeDefaults
from understudy.runs.model import DebugLevel, Run, RunStatus
from understudy.sessions.model import MemberKind
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock

PAGE = PageRequest(limit=200)
ROOM = "room"


@dataclass
class ChannelHarness:
    """One daemon's worth of channels; several may share a database and a clock."""

    units: Units
    clock: FrozenClock = field(default_factory=FrozenClock)
    catalogue: Catalogue = field(default_factory=Catalogue)
    cancelled: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        defaults = RuntimeDefaults(route_id="a", debug_level=DebugLevel.OFF)
        self.intake = Intake(self.clock, self.catalogue, lambda _: defaults)
        self.use(Posting(clock=self.clock))

    def use(self, posting: Posting) -> None:
        """Have messages written like this."""
        self.turns = Turns(
            clock=self.clock,
            intake=self.intake,
            posting=posting,
            cancel_run=self.cancelled.append,
        )
        self.service = ChannelService(
            units=self.units,
            clock=self.clock,
            posting=posting,
            arbitration=self.turns.for_message,
            cancel_run=self.cancelled.append,
        )
        self.stimuli = StimulusService(units=self.units, clock=self.clock, posting=posting)
        self.duty = ChannelDuty(
            units=self.units, clock=self.clock, turns=self.turns, stimuli=self.stimuli
        )

    def beside(self) -> "ChannelHarness":
        """Another daemon on the same database, or this one after a restart."""
        return ChannelHarness(self.units, self.clock, self.catalogue, self.cancelled)

    def room(self, *agents: str, **fields: Any) -> Channel:
        """A channel with the person alice and some agents, each with a session of its name."""
        with self.units.write() as unit:
            for name in agents:
                unit.sessions.add(make_session(name))
        members = (person("alice"), *(agent(name) for name in agents))
        return self.service.create(ADMIN, ROOM, "The room", members=members, **fields)

    def say(self, content: str, *, principal: Principal = ADMIN, **fields: Any) -> ChannelMessage:
        """A message of alice, after which the daemon chooses who answers."""
        fields = {"sender_actor_id": "alice", **fields}
        wanted = NewChannelMessage(content=content, **fields)
        message = self.service.post(principal, ROOM, wanted)
        self.work()
        return message

    def work(self, ms: int = 0) -> None:
        """Let time go by, then let the worker do what is due."""
        self.clock.advance(ms)
        self.duty.claim(1)

    def leases(self) -> tuple[TurnLease, ...]:
        return self.service.leases(ROOM)

    def speaking(self) -> list[str]:
        """Who has the floor."""
        return [lease.holder_session_id for lease in self.leases()]

    def end(
        self,
        session_id: str,
        says: str | None = None,
        *,
        status: RunStatus = RunStatus.COMPLETED,
        settle: bool = True,
    ) -> str:
        """End the turn of a session, which says something or nothing."""
        lease = next(each for each in self.leases() if each.holder_session_id == session_id)
        run_id = lease.active_run_id or ""
        with self.units.write() as unit:
            if says is not None:
                assert unit.channel_turns.set_output(run_id, TurnOutput(content=says))
        self.change(run_id, status=status, finished_at_ms=self.clock.now_ms())
        if settle:
            self.work()
        return run_id

    def change(self, run_id: str, **fields: Any) -> None:
        with self.units.write() as unit:
            run = unit.runs.get(run_id, lock=True)
            assert run is not None
            unit.runs.update(replace(run, **fields))

    def runs(self, session_id: str) -> list[Run]:
        """Oldest first."""
        with self.units.read() as unit:
            return list(reversed(unit.runs.page(PAGE, session_id=session_id).items))

    def log(self) -> list[tuple[str, str]]:
        """Who said what, in order."""
        page = self.service.messages(ROOM, PAGE)
        return [(message.sender.id, message.content) for message in page.items]

    def member(self, name: str, **fields: Any) -> None:
        """Change how an agent takes part."""
        self.service.put_member(ADMIN, ROOM, agent(name, **fields))


def person(name: str, **fields: Any) -> ChannelMember:
    return ChannelMember(
        member_id=name, member_kind=MemberKind.HUMAN_ACTOR, display_name=name.title(), **fields
    )


def agent(name: str, **fields: Any) -> ChannelMember:
    return ChannelMember(
        member_id=name, member_kind=MemberKind.SESSION, display_name=name.title(), **fields
    )
