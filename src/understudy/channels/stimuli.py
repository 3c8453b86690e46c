"""Stimuli: posts to a channel without a person asking, within the limits of its policy."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, Field

from understudy.channels.model import (
    OVER,
    Channel,
    ThreadWork,
    TopicKind,
    require_channel,
    require_member,
    require_message,
)
from understudy.channels.posting import NewChannelMessage, Posting, Topic, member_sending
from understudy.channels.stimulus_model import (
    BINDINGS,
    SILENT,
    STATUS_AFTER,
    STIMULUS,
    TOPIC_OF,
    NewStimulus,
    Stimulus,
    StimulusKind,
    StimulusStatus,
)
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DatabaseUnavailable, UnderstudyError, coded_error
from understudy.core.ids import new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import DAEMON, Principal
from understudy.runs.model import Run
from understudy.tools.base import Approval, Effect, Parameters, ToolContext
from understudy.work.db_retry import run_blocking

if TYPE_CHECKING:
    from understudy.channels.tools import TurnDesk
    from understudy.storage.unit import Unit, Units

HOUR_MS: Final = 3600 * 1000
RETRY_MS: Final = 5_000
MAX_CONTENT_CHARS: Final = 16_000
CREATE: Final = "create_channel_stimulus"


@dataclass(frozen=True, slots=True, kw_only=True)
class StimulusService:
    """Accepts stimuli, and dispatches them when they are due."""

    units: "Units"
    clock: Clock
    posting: Posting
    changed: Callable[[str], None] = lambda _: None

    def create(
        self,
        principal: Principal,
        channel_id: str,
        wanted: NewStimulus,
        *,
        call_digest: str | None = None,
    ) -> Stimulus:
        """Create a stimulus; a repeated tool call returns the first one."""
        _check(wanted)
        with self.units.write() as unit:
            channel = require_channel(unit, channel_id, lock=True)
            if call_digest is not None:
                made = unit.stimuli.of_call(call_digest)
                if made is not None:
                    return made
            stimulus = self._made(unit, principal, channel, wanted, call_digest=call_digest)
            now = self.clock.now_ms()
            unit.audit.add(
                audit.done(principal, "channels.create_stimulus", stimulus.stimulus_id, at_ms=now)
            )
        self.changed(channel_id)
        return stimulus

    def page(
        self, channel_id: str, request: PageRequest, *, status: StimulusStatus | None = None
    ) -> Page[Stimulus]:
        """The stimuli of a channel, newest first."""
        with self.units.read() as unit:
            require_channel(unit, channel_id)
            return unit.stimuli.page(channel_id, request, status=status)

    def dispatch(self, unit: "Unit", channel: Channel, stimulus_id: str) -> None:
        """Post what a stimulus says, postpone it, or cancel it with the reason."""
        stimulus = unit.stimuli.get(stimulus_id, lock=True)
        now = self.clock.now_ms()
        if stimulus is None or stimulus.due_at_ms is None or stimulus.due_at_ms > now:
            return  # another daemon was faster
        if stimulus.expires_at_ms is not None and stimulus.expires_at_ms <= now:
            self._move(unit, stimulus, StimulusStatus.CANCELLED, last_error="expired")
            return
        thread = self._thread(unit, stimulus)
        reason, retry_at = self._held_back(unit, channel, thread)
        if retry_at is not None:
            self._put_off(unit, stimulus, reason, retry_at)
        elif reason is not None:
            self._move(unit, stimulus, StimulusStatus.CANCELLED, last_error=reason)
        else:
            self._say(unit, channel, stimulus, thread)

    def _made(
        self,
        unit: "Unit",
        principal: Principal,
        channel: Channel,
        wanted: NewStimulus,
        *,
        call_digest: str | None,
    ) -> Stimulus:
        sender = NewChannelMessage(
            sender_actor_id=wanted.sender_actor_id, sender_session_id=wanted.sender_session_id
        )
        member = member_sending(unit, principal, channel.channel_id, sender)
        if wanted.thread_root_message_id is not None:
            root = require_message(unit, channel.channel_id, wanted.thread_root_message_id)
            if root.thread_root_message_id is not None:
                raise coded_error(
                    "channels/not_a_thread_root",
                    pointer="/thread_root_message_id",
                    message_id=root.message_id,
                    root_id=root.thread_root_message_id,
                )
        now = self.clock.now_ms()
        available = max(wanted.available_at_ms or now, now)
        fields = ("scope", "kind", "content", "thread_root_message_id", "dedupe_key")
        more = ("progress_key", "expires_at_ms", "bindings")
        stimulus = Stimulus(
            stimulus_id=new_id("stm"),
            channel_id=channel.channel_id,
            sender_member_id=member.member_id,
            created_by=principal.user_id,
            available_at_ms=available,
            due_at_ms=available,
            created_at_ms=now,
            updated_at_ms=now,
            call_digest=call_digest,
            **{name: getattr(wanted, name) for name in (*fields, *more)},
        )
        return self._queued(unit, channel, stimulus)

    def _queued(self, unit: "Unit", channel: Channel, stimulus: Stimulus) -> Stimulus:
        """Insert a stimulus; an equal pending one coalesces with it, an older one is superseded."""
        waiting = unit.stimuli.pending(channel.channel_id)
        alike = next((each for each in waiting if _is_alike(each, stimulus)), None)
        if alike is not None:
            stimulus = replace(
                stimulus,
                status=StimulusStatus.COALESCED,
                replaced_by=alike.stimulus_id,
                due_at_ms=None,
            )
        for older in (each for each in waiting if _is_replaced(each, stimulus)):
            self._move(unit, older, StimulusStatus.SUPERSEDED, replaced_by=stimulus.stimulus_id)
        left = len(unit.stimuli.pending(channel.channel_id))
        limit = channel.autonomy_policy.max_pending_stimuli
        if alike is None and left >= limit:
            raise coded_error("channels/stimuli_full", limit=limit)
        unit.stimuli.add(stimulus)
        return stimulus

    def _thread(self, unit: "Unit", stimulus: Stimulus) -> ThreadWork | None:
        """The thread of a stimulus; None where it opens one."""
        if stimulus.thread_root_message_id is not None:
            return unit.threads.get(stimulus.thread_root_message_id)
        if stimulus.dedupe_key is None:
            return None
        return unit.threads.open(stimulus.channel_id, stimulus.dedupe_key)

    def _held_back(
        self, unit: "Unit", channel: Channel, thread: ThreadWork | None
    ) -> tuple[str | None, int | None]:
        """Why nothing may be posted now, and when to retry; without a time, never."""
        now, policy = self.clock.now_ms(), channel.autonomy_policy
        if channel.paused:
            return "paused", now + RETRY_MS
        if thread is not None:
            return None, None
        roots = unit.threads.autonomous_roots(channel.channel_id, since_ms=now - HOUR_MS)
        opened = [each.created_at_ms for each in roots]
        active = sum(each.status not in OVER for each in roots)
        quiet_until = max(opened, default=0) + policy.quiet_period_ms_after_root_post
        if opened and quiet_until > now:
            return "quiet_period_ms_after_root_post", quiet_until
        if active >= policy.max_active_autonomous_roots:
            return f"max_active_autonomous_roots: {active} are active", None
        if (
            sum(each > now - HOUR_MS for each in opened)
            >= policy.max_autonomous_root_posts_per_hour
        ):
            return "max_autonomous_root_posts_per_hour is reached", None
        return None, None

    def _say(
        self, unit: "Unit", channel: Channel, stimulus: Stimulus, thread: ThreadWork | None
    ) -> None:
        claimed = self._move(unit, stimulus, StimulusStatus.CLAIMED, attempts=stimulus.attempts + 1)
        wanted = NewChannelMessage(
            content=stimulus.content,
            thread_root_message_id=None if thread is None else thread.thread_root_message_id,
        )
        topic = Topic(
            kind=TOPIC_OF.get(stimulus.kind, TopicKind.AUTONOMOUS_ROOT),
            status=STATUS_AFTER[stimulus.kind],
            dedupe_key=stimulus.dedupe_key,
            progress_key=stimulus.progress_key,
            bindings=stimulus.bindings,
            wants_answer=stimulus.kind not in SILENT,
        )
        marks = {"stimulus_id": stimulus.stimulus_id}
        try:
            member = require_member(unit, channel.channel_id, stimulus.sender_member_id)
            message = self.posting.post(
                unit, DAEMON, channel, member, wanted, topic=topic, marks=marks
            )
        except DatabaseUnavailable:
            raise
        except UnderstudyError as problem:
            self._move(unit, claimed, StimulusStatus.CANCELLED, last_error=problem.code)
            return
        self._move(unit, claimed, StimulusStatus.DISPATCHED, message_id=message.message_id)

    def _put_off(self, unit: "Unit", stimulus: Stimulus, reason: str | None, at_ms: int) -> None:
        later = replace(
            stimulus,
            due_at_ms=at_ms,
            last_error=reason,
            attempts=stimulus.attempts + 1,
            updated_at_ms=self.clock.now_ms(),
        )
        unit.stimuli.update(later)

    def _move(
        self, unit: "Unit", stimulus: Stimulus, status: StimulusStatus, **fields: Any
    ) -> Stimulus:
        STIMULUS.check(stimulus.status, status)
        moved = replace(
            stimulus, status=status, due_at_ms=None, updated_at_ms=self.clock.now_ms(), **fields
        )
        unit.stimuli.update(moved)
        return moved


def _is_alike(waiting: Stimulus, new: Stimulus) -> bool:
    """Whether a pending stimulus says the same as a new one."""
    same_key = new.dedupe_key is not None and waiting.dedupe_key == new.dedupe_key
    return (
        same_key
        and (waiting.kind, waiting.progress_key) == (new.kind, new.progress_key)
        and (new.progress_key is None)
    )


def _is_replaced(waiting: Stimulus, new: Stimulus) -> bool:
    """Whether a new stimulus reports later progress of the same subject."""
    target = (waiting.dedupe_key, waiting.thread_root_message_id)
    return (
        new.status is StimulusStatus.PENDING
        and new.progress_key is not None
        and waiting.progress_key == new.progress_key
        and target == (new.dedupe_key, new.thread_root_message_id)
    )


def _check(wanted: NewStimulus) -> None:
    if not wanted.content.strip():
        raise coded_error("channels/message_empty", pointer="/content")
    if len(wanted.content) > MAX_CONTENT_CHARS:
        raise coded_error("channels/message_too_large", limit_bytes=MAX_CONTENT_CHARS)
    if wanted.scope == "channel" and wanted.thread_root_message_id is not None:
        raise coded_error("channels/stimulus_invalid:root", pointer="/thread_root_message_id")
    if wanted.scope == "thread" and wanted.thread_root_message_id is None:
        raise coded_error("channels/stimulus_invalid:thread", pointer="/thread_root_message_id")
    for field in ("dedupe_key", "progress_key"):
        value = getattr(wanted, field)
        if value is not None and (not value.strip() or not value.isprintable()):
            raise coded_error("channels/stimulus_invalid:key", pointer=f"/{field}", field=field)
    for name in wanted.bindings:
        if name not in BINDINGS:
            raise coded_error(
                "channels/stimulus_invalid:bindings",
                pointer=f"/bindings/{name}",
                name=name,
                known=", ".join(sorted(BINDINGS)),
            )


class CreateStimulusParameters(Parameters):
    """What `create_channel_stimulus` takes."""

    channel_id: str = Field(min_length=1, max_length=500, description="A channel you are in.")
    kind: StimulusKind = Field(description="What gives rise to it.")
    content: str = Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="What to say.")
    scope: Literal["channel", "thread"] = Field(
        default="channel", description="`channel` opens a thread, `thread` goes on with one."
    )
    thread_root_message_id: str | None = Field(
        default=None, max_length=500, description="The root of the thread, for scope `thread`."
    )
    dedupe_key: str | None = Field(
        default=None, max_length=200, description="Joins the open thread with this key."
    )
    progress_key: str | None = Field(
        default=None, max_length=200, description="Replaces what waits under this key."
    )


class CreateChannelStimulus:
    """Asks the daemon to post in a channel of the session, within its policy."""

    name = CREATE
    description = (
        "Ask to say something in a channel that this session is a member of, outside of a turn. "
        "The channel's policy decides when, and whether."
    )
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = CreateStimulusParameters

    def __init__(self, stimuli: StimulusService, desk: "TurnDesk") -> None:
        self._stimuli = stimuli
        self._desk = desk

    def is_offered(self, unit: "Unit", run: Run) -> bool:
        """Whether the session of a run is a member of a channel."""
        return bool(unit.channels.of_session(run.session_id))

    async def call(self, arguments: CreateStimulusParameters, context: ToolContext) -> str:
        """Create the stimulus; idempotent for a repeated call."""
        return await run_blocking(self._create, arguments, context)

    def _create(self, arguments: CreateStimulusParameters, context: ToolContext) -> str:
        given = arguments.model_dump(exclude={"channel_id", "content"})
        wanted = NewStimulus(
            content=self._desk.scrub(arguments.content),
            sender_session_id=context.session_id,
            bindings={"run_id": context.run_id},
            **given,
        )
        channel_id = arguments.channel_id
        # A model may name anything; only members may learn whether a channel exists.
        with self._stimuli.units.read() as unit:
            if channel_id not in unit.channels.of_session(context.session_id):
                raise coded_error("channels/sender_not_a_member", sender=context.session_id)
        # The session speaks for itself, whichever user its run acts for.
        stimulus = self._stimuli.create(DAEMON, channel_id, wanted, call_digest=context.call_digest)
        return f"{stimulus.stimulus_id} is {stimulus.status}"
