"""Turns in a channel: leases, their settlement, and the next speaker.

Every method works within the caller's unit, which has locked the channel's row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from understudy.channels.arbitration import (
    Arbitration,
    Contender,
    RankedSpeaker,
    Situation,
    arbitrate,
)
from understudy.channels.briefing import MAX_MESSAGES_TOLD, briefing
from understudy.channels.model import (
    Channel,
    ChannelMember,
    ChannelMessage,
    EventName,
    ThreadWork,
    TurnLease,
    TurnOutcome,
)
from understudy.channels.posting import NewChannelMessage, Posting
from understudy.core.clock import Clock
from understudy.core.errors import DatabaseUnavailable, UnderstudyError
from understudy.core.ids import new_id
from understudy.core.page import PageRequest
from understudy.core.principal import DAEMON, Principal, Role
from understudy.runs.intake import RunIntake
from understudy.runs.lifecycle import TERMINAL, WAITING
from understudy.runs.model import InputItem, Run, RunKind, RunStatus
from understudy.runs.submission import Submission
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()

SOURCE_PLUGIN: Final = "daemon"
SOURCE_KIND: Final = "channel"
# Blockers that are checked again for speakers ranked earlier.
STILL_BLOCKED: Final = frozenset({"muted", "manual_only", "has_turn"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQuestion:
    """The message to answer, and the person's message that it goes back to."""

    root_id: str
    origin: ChannelMessage
    human: ChannelMessage
    priority: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Gives turns to members, one lease each, and settles them."""

    clock: Clock
    intake: RunIntake
    posting: Posting
    # Called after the commit with a run that was replaced.
    cancel_run: Callable[[str], None] = lambda _: None

    def arbitration(
        self,
        unit: "Unit",
        channel: Channel,
        question: TurnQuestion,
        *,
        besides: str | None = None,
    ) -> Arbitration:
        """The ranking for a question; `besides` is left out altogether."""
        members = [
            each
            for each in unit.channels.sessions(channel.channel_id)
            if each.session_id != besides
        ]
        situation = Situation(
            now_ms=self.clock.now_ms(),
            cooldown_ms=channel.autonomy_policy.member_cooldown_ms,
            priority=question.priority,
        )
        return arbitrate(_contenders(unit, channel, members, question), situation)

    def question(self, unit: "Unit", channel: Channel, message: ChannelMessage) -> TurnQuestion:
        """The question of a person's message, with the sessions to ask first."""
        priority = _priority(unit, channel, message)
        return TurnQuestion(
            root_id=message.root_id, origin=message, human=message, priority=priority
        )

    def for_message(self, unit: "Unit", channel: Channel, message: ChannelMessage) -> Arbitration:
        """The ranking for a message if it were posted now."""
        return self.arbitration(unit, channel, self.question(unit, channel, message))

    def drive(self, unit: "Unit", channel: Channel, thread: ThreadWork) -> None:
        """Start turns for the message that a thread waits with, or postpone it."""
        message = unit.channel_messages.get(thread.wish_message_id or "")
        done = replace(thread, wish_message_id=None, due_at_ms=None, failures=0)
        unit.threads.put(done)
        if message is None or channel.paused:
            return
        question = self.question(unit, channel, message)
        # Nobody answers themselves: an agent's stimulus is for the others.
        besides = message.sender_session_id
        speakers = self.arbitration(unit, channel, question, besides=besides).speakers
        under_way = unit.channel_turns.of_thread(question.root_id)
        started = self._start(unit, channel, question, speakers)
        taken = {lease.holder_session_id for lease in started}
        queue = tuple(each.session_id for each in speakers if each.session_id not in taken)
        for lease in under_way:
            renewed = replace(
                lease,
                last_human_message_id=message.message_id,
                last_human_priority_session_ids=question.priority,
                queued_candidate_session_ids=queue,
                agent_reply_count_since_last_human=0,
            )
            self._renew(unit, channel, renewed)

    def settle(self, unit: "Unit", channel: Channel, lease: TurnLease, run: Run | None) -> None:
        """Publish the output of a turn, and start the next turn."""
        posted = self._publish(unit, channel, lease, run)
        unit.channel_turns.delete(lease.turn_id)
        outcome = _outcome(lease, run, posted)
        message_id = posted.message_id if posted else None
        self._tell(unit, lease, "ended", outcome=outcome, message_id=message_id)
        if channel.paused:
            return
        if lease.has_newer_question:
            self._take_up(unit, channel, lease)
        else:
            self._go_on(unit, channel, lease, posted)

    def expire(self, unit: "Unit", channel: Channel, lease: TurnLease, run: Run | None) -> None:
        """Settle a turn that is over; hand over one that takes too long; else renew its lease."""
        if run is None or run.status in TERMINAL:
            self.settle(unit, channel, lease, run)
        # A run that waits for a person keeps its turn.
        elif channel.paused or run.status in WAITING or not self._hand_over(unit, channel, lease):
            self._renew(unit, channel, lease)

    def _publish(
        self, unit: "Unit", channel: Channel, lease: TurnLease, run: Run | None
    ) -> ChannelMessage | None:
        if run is None or run.status is not RunStatus.COMPLETED or lease.output is None:
            return None
        known = unit.channel_messages.of_run(run.run_id)
        if known is not None:
            return known
        member = unit.channels.member_of(channel.channel_id, session_id=lease.holder_session_id)
        if member is None or member.muted:
            return None
        files = tuple(
            InputItem(type="asset_reference", asset_id=each) for each in lease.output.asset_ids
        )
        text = InputItem(type="text", text=lease.output.content)
        wanted = NewChannelMessage(
            input_items=(text, *files), reply_to_message_id=lease.origin_message_id
        )
        marks = {"source_run_id": run.run_id, "turn_id": lease.turn_id}
        try:
            return self.posting.post(unit, DAEMON, channel, member, wanted, marks=marks)
        except DatabaseUnavailable:
            raise
        except UnderstudyError as problem:
            log.warning("channel.not_published", run_id=run.run_id, reason=problem.code)
            return None

    def _take_up(self, unit: "Unit", channel: Channel, lease: TurnLease) -> None:
        """Answer what a person posted during the turn.

        Its holder does so only if it was asked first, or nobody else may speak.
        """
        message = unit.channel_messages.get(lease.last_human_message_id)
        if message is None:
            return
        priority = lease.last_human_priority_session_ids
        question = TurnQuestion(
            root_id=lease.thread_root_message_id, origin=message, human=message, priority=priority
        )
        is_first = priority[:1] == (lease.holder_session_id,)
        besides = None if is_first else lease.holder_session_id
        speakers = self.arbitration(unit, channel, question, besides=besides).speakers
        if not speakers:
            alone = replace(question, priority=(lease.holder_session_id,))
            speakers = self.arbitration(unit, channel, alone).speakers
        self._start(unit, channel, question, speakers)

    def _go_on(
        self, unit: "Unit", channel: Channel, lease: TurnLease, posted: ChannelMessage | None
    ) -> None:
        """Let the next in the queue answer what was just posted."""
        question = self._follow_up(unit, lease, posted)
        if question is not None:
            queued = self._queued(unit, channel, lease, question)
            self._start(unit, channel, question, queued, most=1)

    def _hand_over(self, unit: "Unit", channel: Channel, lease: TurnLease) -> bool:
        """Hand a turn that takes too long to the next in the queue; False without one."""
        question = self._follow_up(unit, lease, None)
        queued = () if question is None else self._queued(unit, channel, lease, question)
        if question is None or not queued:
            return False
        unit.channel_turns.delete(lease.turn_id)
        if not self._start(unit, channel, question, queued, most=1, instead_of=lease):
            unit.channel_turns.insert(lease)
            return False
        self._tell(unit, lease, "handed_over", outcome=TurnOutcome.TOOK_TOO_LONG)
        if lease.active_run_id is not None:
            unit.after_commit(partial(self.cancel_run, lease.active_run_id))
        return True

    def _follow_up(
        self, unit: "Unit", lease: TurnLease, posted: ChannelMessage | None
    ) -> TurnQuestion | None:
        messages = unit.channel_messages
        human = messages.get(lease.current_human_origin_message_id)
        origin = posted or messages.get(lease.origin_message_id)
        if human is None or origin is None:
            return None
        return TurnQuestion(
            root_id=lease.thread_root_message_id,
            origin=origin,
            human=human,
            priority=lease.last_human_priority_session_ids,
        )

    def _queued(
        self, unit: "Unit", channel: Channel, lease: TurnLease, question: TurnQuestion
    ) -> tuple[RankedSpeaker, ...]:
        """The queued speakers who may still speak, in order."""
        found = self.arbitration(unit, channel, question, besides=lease.holder_session_id)
        # They were ranked before, so only blockers that changed since then count.
        waiting = [
            RankedSpeaker(
                session_id=each.session_id,
                member_id=each.member_id,
                display_name=each.display_name,
                reasons=("queued",),
            )
            for each in found.passed_over
            if not STILL_BLOCKED & set(each.reasons)
        ]
        known = {each.session_id: each for each in (*found.speakers, *waiting)}
        order = lease.queued_candidate_session_ids
        return tuple(known[session_id] for session_id in order if session_id in known)

    def _start(
        self,
        unit: "Unit",
        channel: Channel,
        question: TurnQuestion,
        speakers: Sequence[RankedSpeaker],
        *,
        most: int | None = None,
        instead_of: TurnLease | None = None,
    ) -> list[TurnLease]:
        """Start as many turns as slots and budget allow; queue the rest."""
        policy = channel.autonomy_policy
        under_way = unit.channel_turns.of_thread(question.root_id)
        spent = unit.channel_messages.replies_to(question.human)
        human_id = question.human.message_id
        shared = sum(each.current_human_origin_message_id == human_id for each in under_way)
        budget = policy.max_agent_replies_per_human_message - spent - shared
        places = min(policy.max_parallel_public_speakers - len(under_way), budget)
        if most is not None:
            places = min(places, most)
        now = self.clock.now_ms()
        left, started = list(speakers), list[TurnLease]()
        while left and len(started) < places:
            speaker = left.pop(0)
            lease = TurnLease(
                turn_id=new_id("trn"),
                channel_id=channel.channel_id,
                thread_root_message_id=question.root_id,
                origin_message_id=question.origin.message_id,
                holder_session_id=speaker.session_id,
                superseded_run_id=instead_of.active_run_id if instead_of else None,
                superseded_turn_id=instead_of.turn_id if instead_of else None,
                remaining_reply_budget=budget - len(started) - 1,
                expires_at_ms=now + policy.lease_timeout_ms,
                current_human_origin_message_id=human_id,
                last_human_message_id=human_id,
                last_human_priority_session_ids=question.priority,
                agent_reply_count_since_last_human=spent,
                created_at_ms=now,
                reasons=speaker.reasons,
            )
            if (run := self._submit(unit, channel, question, lease)) is not None:
                started.append(replace(lease, active_run_id=run.run_id))
        queue = tuple(each.session_id for each in left)
        for lease in started:
            leased = replace(lease, queued_candidate_session_ids=queue)
            unit.channel_turns.insert(leased)
            self._tell(unit, leased, "started")
        self._forget_queued(unit, under_way, started)
        return started

    def _forget_queued(
        self, unit: "Unit", under_way: Sequence[TurnLease], started: Sequence[TurnLease]
    ) -> None:
        """Remove members that now have a turn from the queues of the thread's other turns."""
        speaking = {lease.holder_session_id for lease in started}
        for lease in under_way:
            queue = lease.queued_candidate_session_ids
            left = tuple(each for each in queue if each not in speaking)
            if left != queue:
                unit.channel_turns.update(replace(lease, queued_candidate_session_ids=left))

    def _submit(
        self, unit: "Unit", channel: Channel, question: TurnQuestion, lease: TurnLease
    ) -> Run | None:
        """The run of a turn in the member's own session; None when it cannot be submitted now."""
        try:
            session = require_session(unit, lease.holder_session_id, lock=True)
            owner = Principal(user_id=session.owner_id, role=Role.OPERATOR)
            submission = self._submission(unit, channel, question, lease)
            run, _ = self.intake.take(unit, owner, session, submission)
        except DatabaseUnavailable:
            raise
        except UnderstudyError as problem:
            log.warning(
                "channel.turn_refused", session_id=lease.holder_session_id, reason=problem.code
            )
            return None
        return run

    def _submission(
        self, unit: "Unit", channel: Channel, question: TurnQuestion, lease: TurnLease
    ) -> Submission:
        members = unit.channels.members(channel.channel_id)
        own = next(each for each in members if each.session_id == lease.holder_session_id)
        latest = PageRequest(limit=MAX_MESSAGES_TOLD)
        thread = unit.channel_messages.latest(
            channel.channel_id, latest, root_id=question.root_id
        ).items
        files = (
            *question.origin.asset_ids,
            *question.human.asset_ids,
            *channel.pinned_asset_ids,
        )
        metadata = {
            "channel_id": channel.channel_id,
            "thread_root_message_id": question.root_id,
            "origin_message_id": question.origin.message_id,
            "human_origin_message_id": question.human.message_id,
            "turn_id": lease.turn_id,
            "addressed_member_ids": list(question.human.addressed_member_ids),
            "superseded_run_id": lease.superseded_run_id,
            "superseded_turn_id": lease.superseded_turn_id,
        }
        return Submission(
            content=briefing(channel, members, own, thread, question.origin),
            preview=f"{question.origin.sender.display_name}: {question.origin.content}",
            attachments=tuple(dict.fromkeys(files)),
            kind=RunKind.CHANNEL_DELIVERY,
            source_plugin=SOURCE_PLUGIN,
            source_kind=SOURCE_KIND,
            actor_id=question.human.sender.id,
            reply_targets=(),
            metadata={name: value for name, value in metadata.items() if value is not None},
        )

    def _renew(self, unit: "Unit", channel: Channel, lease: TurnLease) -> None:
        until = self.clock.now_ms() + channel.autonomy_policy.lease_timeout_ms
        renewed = replace(lease, expires_at_ms=until)
        unit.channel_turns.update(renewed)
        self._tell(unit, renewed, "renewed")

    def _tell(
        self,
        unit: "Unit",
        lease: TurnLease,
        change: str,
        *,
        outcome: TurnOutcome | None = None,
        message_id: str | None = None,
    ) -> None:
        data = {
            "turn_id": lease.turn_id,
            "change": change,
            "thread_root_message_id": lease.thread_root_message_id,
            "human_message_id": lease.current_human_origin_message_id,
            "holder_session_id": lease.holder_session_id,
            "run_id": lease.active_run_id,
            "reasons": list(lease.reasons),
            "queued_candidate_session_ids": list(lease.queued_candidate_session_ids),
        }
        if outcome is not None:
            data["outcome"] = str(outcome)
        if message_id is not None:
            data["published_message_id"] = message_id
        now = self.clock.now_ms()
        unit.channels.event(lease.channel_id, EventName.LEASE, data, at_ms=now)


def _outcome(lease: TurnLease, run: Run | None, posted: ChannelMessage | None) -> TurnOutcome:
    if posted is not None:
        return TurnOutcome.PUBLISHED
    if run is None or run.status is not RunStatus.COMPLETED:
        return TurnOutcome.FAILED
    return TurnOutcome.NOTHING_TO_ADD if lease.output is None else TurnOutcome.NOT_PUBLISHED


def _priority(unit: "Unit", channel: Channel, message: ChannelMessage) -> tuple[str, ...]:
    """The sessions to ask first: who is addressed, answered, or spoke last."""
    if message.addressed_member_ids:
        roster = {each.member_id: each for each in unit.channels.sessions(channel.channel_id)}
        named = (roster.get(each) for each in message.addressed_member_ids)
        addressed = tuple(each.session_id for each in named if each is not None and each.session_id)
        if addressed:
            return addressed
    messages = unit.channel_messages
    if message.reply_to_message_id is not None:
        answered = messages.get(message.reply_to_message_id)
        if answered is not None and answered.sender_session_id is not None:
            return (answered.sender_session_id,)
    is_root = message.thread_root_message_id is None
    spoken = dict(messages.last_words(channel.channel_id, None if is_root else message.root_id))
    spoken.pop(message.sender_session_id or "", None)
    if spoken:
        return (max(spoken, key=lambda session_id: spoken[session_id].position),)
    leases = unit.channel_turns.of_thread(message.root_id)
    return leases[0].last_human_priority_session_ids if leases else ()


def _contenders(
    unit: "Unit", channel: Channel, members: Sequence[ChannelMember], question: TurnQuestion
) -> list[Contender]:
    sessions = [each.session_id for each in members if each.session_id is not None]
    in_thread = unit.channel_messages.last_words(channel.channel_id, question.root_id)
    in_channel = unit.channel_messages.last_words(channel.channel_id)
    runs = unit.channel_turns.active_runs(sessions)
    busy = unit.channel_turns.threads_under_way([each for each in sessions if runs.get(each)])
    holders = {each.holder_session_id for each in unit.channel_turns.of_thread(question.root_id)}
    reacted = {actor for each in question.origin.reactions for actor in each.actor_ids}
    contenders = []
    for member in members:
        session_id = member.session_id or ""
        thread_word, channel_word = in_thread.get(session_id), in_channel.get(session_id)
        has_turn = session_id in holders or (session_id, question.root_id) in busy
        contenders.append(
            Contender(
                session_id=session_id,
                member_id=member.member_id,
                display_name=member.display_name,
                mode=channel.mode_of(member),
                is_muted=member.muted,
                has_turn=has_turn,
                spoke_in_thread_at_ms=thread_word.at_ms if thread_word else None,
                spoke_in_channel_at_ms=channel_word.at_ms if channel_word else None,
                has_commented=bool(thread_word and thread_word.position > question.human.position),
                has_reacted=session_id in reacted,
                active_runs=runs.get(session_id, 0),
            )
        )
    return contenders
