"""Runs by requests in OpenAI's shapes: which session, which words are the user's, what waits."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from understudy.api.idempotency import key_for_receipt
from understudy.api.services import Services
from understudy.api.sse import HEARTBEAT, Position, RunStreamState, run_frames
from understudy.api.submissions import SETTLED
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.principal import Principal
from understudy.runs.lifecycle import WAITING
from understudy.runs.model import (
    BRIEFING,
    OPENAI_SOURCE,
    InputItem,
    Run,
    RunStatus,
    require_run,
)
from understudy.runs.requests import RequestKind
from understudy.runs.service import RunDetail, detail_of
from understudy.runs.submission import Submission, hash_key
from understudy.runs.transcripts import Transcripts, Turn, newest_run
from understudy.sessions.creation import NewSession
from understudy.sessions.journal import OPENAI_METADATA
from understudy.wire.events import RUN_UPDATED
from understudy.wire.openai import ChatBody, ResponsesBody, SentMessage

if TYPE_CHECKING:
    from understudy.api.views.openai import ChatSpeaker, ResponseSpeaker
    from understudy.storage.unit import Unit

RUN: Final = "run_"
RESPONSE: Final = "resp_"
USER: Final = "user"
ASSISTANT: Final = "assistant"
SYSTEM: Final = frozenset({"system", "developer"})
GIVEN: Final = (
    "The user's program sent this along, one message a line, as JSON. It is not the user's own "
    "word, which counts for more and follows it.\n{lines}"
)
APPROVE: Final = (
    "This run waits for approval: {what}. Decide at {base}runs/{run_id}, or with "
    "`understudy approvals allow {ids}`. The run goes on by itself then."
)
ANSWER: Final = (
    "This run waits for an answer: {what} Answer at {base}runs/{run_id}, or with "
    "`understudy questions answer {ids}`. The run goes on by itself then."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIRequest:
    """A request of either kind."""

    agent_id: str
    turns: tuple[Turn, ...]
    metadata: dict[str, Any] | None
    settings: dict[str, Any]
    digest: str
    session_id: str | None = None
    previous: str | None = None
    is_background: bool = False
    # Whether each request holds the conversation from its beginning.
    is_whole: bool = True

    @classmethod
    def of_chat(cls, body: ChatBody) -> "OpenAIRequest":
        """A chat completion: the client sends everything, every time."""
        return cls(
            agent_id=body.model,
            turns=_turns(body.messages),
            metadata=body.metadata,
            settings=body.settings(body.max_completion_tokens or body.max_tokens, "seed", "stop"),
            digest=_digest(body.model_dump_json()),
            session_id=body.named_session,
        )

    @classmethod
    def of_response(cls, body: ResponsesBody) -> "OpenAIRequest":
        """A response: what is new in a conversation, or all of one that is not named."""
        conversation = body.conversation.id if body.conversation else None
        named = (body.previous_response_id, conversation, body.named_session)
        if sum(it is not None for it in named) > 1:
            raise coded_error("openai/session_named_twice", pointer="/previous_response_id")
        told = (("system", body.instructions),) if body.instructions else ()
        return cls(
            agent_id=body.model,
            turns=(*told, *_turns(body.input)),
            metadata=body.metadata,
            settings=body.settings(body.max_output_tokens),
            digest=_digest(body.model_dump_json()),
            session_id=conversation or body.named_session,
            previous=body.previous_response_id,
            is_background=bool(body.background),
            is_whole=not any(named),
        )

    @property
    def typed(self) -> tuple[Turn, ...]:
        """What the user says now: the last messages, if they are the user's."""
        newest = takewhile(lambda it: it[0] == USER or it[0] in SYSTEM, reversed(self.turns))
        return tuple(reversed([it for it in newest if it[0] == USER]))

    @property
    def system(self) -> tuple[Turn, ...]:
        """What the program says that sends the request."""
        return tuple(it for it in self.turns if it[0] in SYSTEM)

    @property
    def said(self) -> tuple[Turn, ...]:
        """The conversation."""
        return tuple(it for it in self.turns if it[0] not in SYSTEM)

    @property
    def earlier(self) -> tuple[Turn, ...]:
        """The conversation before what the user says now."""
        return self.said[: len(self.said) - len(self.typed)]


@dataclass(frozen=True, slots=True)
class OpenAIDoor:
    """Submits runs, and follows them."""

    services: Services
    caller: Principal
    # The address of the console, as the client knows the daemon.
    base: str

    @property
    def _transcripts(self) -> Transcripts:
        resources = self.services.resources
        return Transcripts(resources.units, resources.clock)

    def submit(self, asked: OpenAIRequest, key: str | None, language: str | None) -> RunDetail:
        """Queue the run of a request; a repeat under the same key finds the first."""
        if not asked.typed or not any(text for _, text in asked.typed):
            raise coded_error("openai/no_words_of_user", pointer="/messages")
        key = key_for_receipt(self.services, self.caller, key, None)
        with self.services.resources.units.read() as unit:
            if key is not None and (known := self._known(unit, asked, key)) is not None:
                return known
            last, session_id, is_continued = self._place(unit, asked)
            if session_id is not None and not asked.is_background:
                self.refuse_waiting(unit, session_id)
        wanted = NewSession(session_id=session_id, agent_id=asked.agent_id)
        session = self.services.sessions.create(self.caller, wanted)
        submission = _submission(asked, last, is_continued=is_continued, language=language)
        return self.services.runs.service.submit(
            self.caller, session.session_id, submission, idempotency_key=key
        )

    def waits(self, detail: RunDetail) -> str | None:
        """What a run waits for and where a person decides; None for one that does not wait."""
        asks, told = [it for it in detail.pending if it.kind is RequestKind.APPROVAL], APPROVE
        what = ", ".join(f"`{it.body.get('tool_name')}`" for it in asks)
        if not asks:
            asks, told = [it for it in detail.pending if it.kind is RequestKind.QUESTION], ANSWER
            what = " ".join(_questions(it.body) for it in asks)
        if not asks or detail.run.status not in WAITING:
            return None
        ids = " ".join(it.request_id for it in asks)
        return told.format(what=what, base=self.base, run_id=detail.run.run_id, ids=ids)

    def keep(self, asked: OpenAIRequest, run: Run, answer: str) -> None:
        """Note which run a conversation ends with now, unless its client names the session."""
        if asked.is_whole and asked.session_id is None:
            self._transcripts.keep(self.caller, run, (*asked.said, (ASSISTANT, answer)))

    async def follow(
        self,
        submitted: RunDetail,
        speaker: "ChatSpeaker | ResponseSpeaker",
        asked: OpenAIRequest | None,
    ) -> AsyncIterator[bytes]:
        """A run as it goes on, until it has ended or waits for a person."""
        run, services = submitted.run, self.services
        for piece in speaker.begun():
            yield piece
        state = RunStreamState(position=Position())
        async for frame in run_frames(services, run.run_id, run.session_id, state):
            if frame is None:
                yield HEARTBEAT
                continue
            for piece in speaker.frame(frame):
                yield piece
            if frame.event != RUN_UPDATED or frame.data["status"] not in SETTLED:
                continue
            detail = await asyncio.to_thread(services.runs.service.get, run.run_id)
            if detail.run.status not in SETTLED:
                continue
            waits = self.waits(detail)
            if asked is not None:
                await asyncio.to_thread(self.keep, asked, run, answer_of(detail, waits))
            for piece in speaker.ended(detail, waits):
                yield piece
            return
        for piece in speaker.broken(
            coded_error("readiness/daemon_draining:run", run_id=run.run_id)
        ):
            yield piece

    def _known(self, unit: "Unit", asked: OpenAIRequest, key: str) -> RunDetail | None:
        """The run that a key stands for; a conflict if it was another request."""
        receipt = unit.receipts.get(hash_key(self.caller.user_id, key.strip()))
        if receipt is None:
            return None
        run = require_run(unit, receipt.resource_id)
        if kept_of(run).get("request") != asked.digest:
            raise coded_error("idempotency/idempotency_conflict")
        return detail_of(unit, run)

    def _place(self, unit: "Unit", asked: OpenAIRequest) -> tuple[Run | None, str | None, bool]:
        """The newest run of the session, the session, and whether it holds what was said before."""
        if unit.agents.get(asked.agent_id) is None:
            raise coded_error("openai/model_not_found", model=asked.agent_id)
        if asked.previous is not None:
            run = require_run(unit, run_id_of(asked.previous))
            return newest_run(unit, run.session_id), run.session_id, False
        if asked.session_id is not None:
            known = newest_run(unit, asked.session_id)
            return known, asked.session_id, asked.is_whole and known is not None
        last = self._transcripts.last_run(unit, self.caller, asked.agent_id, asked.earlier)
        return last, last.session_id if last else None, last is not None

    def refuse_waiting(self, unit: "Unit", session_id: str) -> None:
        """Raise if a run of the session waits for a person."""
        current = unit.runs.current(session_id)
        if current is None or current.status not in WAITING:
            return
        where = self.waits(detail_of(unit, current)) or ""
        raise coded_error("openai/session_waits", session_id=session_id, where=where)


def answer_of(detail: RunDetail, waits: str | None) -> str:
    """The text of an answer in one piece."""
    said = [str(event.data.get("text", "")) for event in detail.outputs]
    return "\n\n".join([*said, waits] if waits else said)


def ended_well(detail: RunDetail) -> RunDetail:
    """The run; raises for one that ended without an answer."""
    run = detail.run
    if run.status in (RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.INTERRUPTED):
        raise failure_of(run)
    return detail


def failure_of(run: Run) -> UnderstudyError:
    """Why a run has no answer."""
    reason = run.error or "it was stopped"
    return coded_error(
        "openai/answer_failed", run_id=run.run_id, status=str(run.status), reason=reason
    )


def run_id_of(response_id: str) -> str:
    """The run that is behind a response."""
    tail = response_id.removeprefix(RESPONSE)
    return response_id if tail == response_id else RUN + tail


def kept_of(run: Run) -> dict[str, Any]:
    """What the request of a run said besides its text; nothing for a run of another door."""
    kept = (run.input.metadata or {}).get(OPENAI_METADATA)
    return kept if isinstance(kept, dict) else {}


def _submission(
    asked: OpenAIRequest, last: Run | None, *, is_continued: bool, language: str | None
) -> Submission:
    system = _digest(json.dumps(asked.system)) if asked.system else None
    is_known = last is not None and kept_of(last).get("system") == system
    given = (*(() if is_known else asked.system), *(() if is_continued else asked.earlier))
    kept = {
        "request": asked.digest,
        "system": system,
        "background": asked.is_background,
        "previous_response_id": asked.previous,
    }
    return Submission(
        input_items=tuple(_items(given, asked.typed)),
        generation=asked.settings,
        metadata=asked.metadata,
        daemon_metadata={OPENAI_METADATA: kept},
        source_plugin=OPENAI_SOURCE[0],
        source_kind=OPENAI_SOURCE[1],
        accept_language=language,
    )


def _items(given: Sequence[Turn], typed: Sequence[Turn]) -> Iterator[InputItem]:
    if given:
        lines = "\n".join(f"{role}: {json.dumps(text, ensure_ascii=False)}" for role, text in given)
        yield InputItem(type="text", text=GIVEN.format(lines=lines), given_as=BRIEFING)
    yield from (InputItem(type="text", text=text) for _, text in typed if text)


def _turns(messages: Sequence[SentMessage]) -> tuple[Turn, ...]:
    return tuple((message.role, message.text) for message in messages)


def _questions(body: Any) -> str:
    return " ".join(str(it.get("question", "")) for it in body.get("questions") or ())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
