"""Tools of a turn: publish, react, read. They exist only in runs of a channel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, Field

from understudy.assets.contents import require_asset
from understudy.channels.briefing import EMIT, REACT, READ, told_thread
from understudy.channels.model import (
    MAX_CONTENT_BYTES,
    MAX_EMOJI_CHARS,
    ChannelMember,
    TurnLease,
    TurnOutput,
    require_channel,
)
from understudy.channels.service import react_as
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import PageRequest
from understudy.runs.model import Run, RunKind
from understudy.tools.base import Approval, Effect, Parameters, ToolContext
from understudy.work.db_retry import run_blocking

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAX_FILES: Final = 16
MAX_READ: Final = 100
Id = Annotated[str, Field(min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDesk:
    """The services of the turn tools."""

    units: "Units"
    clock: Clock
    # Redacts secrets from published text.
    scrub: Callable[[str], str]
    changed: Callable[[str], None] = lambda _: None

    def lease(self, unit: "Unit", run_id: str) -> TurnLease:
        """The lease of a run, or `Conflict` when it was handed over."""
        lease = unit.channel_turns.of_run(run_id)
        if lease is None:
            raise coded_error("channels/turn_over")
        return lease

    def member(self, unit: "Unit", lease: TurnLease) -> ChannelMember:
        """The member of a turn, or `Rejected` when it left meanwhile."""
        member = unit.channels.member_of(lease.channel_id, session_id=lease.holder_session_id)
        if member is None:
            raise coded_error("channels/sender_not_a_member", sender=lease.holder_session_id)
        return member


class TurnTool:
    """A tool that only the turns of channels have."""

    def __init__(self, desk: TurnDesk) -> None:
        self._desk = desk

    def is_offered(self, _: "Unit", run: Run) -> bool:
        """Whether a run is a turn in a channel."""
        return run.kind is RunKind.CHANNEL_DELIVERY


class EmitOutputParameters(Parameters):
    """What `emit_output` takes."""

    content: str = Field(
        min_length=1, max_length=MAX_CONTENT_BYTES, description="What the room is to read."
    )
    asset_ids: list[Id] = Field(
        default_factory=list, max_length=MAX_FILES, description="Files to show, by asset id."
    )


class EmitOutput(TurnTool):
    """Sets the output that the run publishes; the last call counts."""

    name = EMIT
    description = (
        "Publish a message in the channel when this run is done. Called again, the last call "
        "counts; without a call nothing is published."
    )
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = EmitOutputParameters

    async def call(self, arguments: EmitOutputParameters, context: ToolContext) -> str:
        """Store the output in the lease of the run."""
        return await run_blocking(self._emit, arguments, context)

    def _emit(self, arguments: EmitOutputParameters, context: ToolContext) -> str:
        content = self._desk.scrub(arguments.content).strip()
        if not content:
            raise coded_error("channels/message_empty", pointer="/content")
        if len(content.encode(errors="surrogatepass")) > MAX_CONTENT_BYTES:
            raise coded_error("channels/message_too_large", limit_bytes=MAX_CONTENT_BYTES)
        with self._desk.units.write() as unit:
            for asset_id in arguments.asset_ids:
                require_asset(unit, asset_id)
            output = TurnOutput(content=content, asset_ids=tuple(arguments.asset_ids))
            if not unit.channel_turns.set_output(context.run_id, output):
                raise coded_error("channels/turn_over")
        return "noted; it is published when this run is done"


class SetReactionParameters(Parameters):
    """What `set_channel_reaction` takes."""

    message_id: Id = Field(description="The message to react to, of this channel.")
    emoji: str = Field(
        min_length=1, max_length=MAX_EMOJI_CHARS, description="One emoji, for example 👍."
    )
    remove: bool = Field(default=False, description="Take the reaction back.")


class SetChannelReaction(TurnTool):
    """Reacts to a message of the channel, as the member that speaks."""

    name = REACT
    description = "Set an emoji on a message of the channel, or take yours back."
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = SetReactionParameters

    async def call(self, arguments: SetReactionParameters, context: ToolContext) -> str:
        """Set or remove the reaction; idempotent."""
        return await run_blocking(self._react, arguments, context)

    def _react(self, arguments: SetReactionParameters, context: ToolContext) -> str:
        desk = self._desk
        with desk.units.write() as unit:
            channel_id = desk.lease(unit, context.run_id).channel_id
            require_channel(unit, channel_id, lock=True)
            lease = desk.lease(unit, context.run_id)
            react_as(
                unit,
                desk.member(unit, lease),
                channel_id,
                arguments.message_id,
                arguments.emoji,
                is_set=not arguments.remove,
                at_ms=desk.clock.now_ms(),
            )
        desk.changed(channel_id)
        done = "taken back from" if arguments.remove else "set on"
        return f"{arguments.emoji} {done} {arguments.message_id}"


class ReadThreadParameters(Parameters):
    """What `read_channel_thread` takes."""

    limit: int = Field(default=20, ge=1, le=MAX_READ, description="How many of the last messages.")


class ReadChannelThread(TurnTool):
    """Reads the last messages of the thread as they are now."""

    name = READ
    description = "Read the last messages of the channel's thread, with ids and reactions."
    effect = Effect.READ
    approval = Approval.NEVER
    parameters: type[BaseModel] = ReadThreadParameters

    async def call(self, arguments: ReadThreadParameters, context: ToolContext) -> str:
        """The messages, quoted line by line."""
        return await run_blocking(self._read, arguments, context)

    def _read(self, arguments: ReadThreadParameters, context: ToolContext) -> str:
        with self._desk.units.read() as unit:
            lease = self._desk.lease(unit, context.run_id)
            self._desk.member(unit, lease)
            page = unit.channel_messages.latest(
                lease.channel_id,
                PageRequest(limit=arguments.limit),
                root_id=lease.thread_root_message_id,
            )
        return told_thread(page.items)
