"""Answers in OpenAI's shapes, built from its own types; import it only where the extra is there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from fastapi.sse import format_sse_event
from openai.types import CompletionUsage, Model
from openai.types import responses as wire
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_chunk import Choice as ChunkChoice
from openai.types.chat.chat_completion_chunk import ChoiceDelta
from openai.types.responses.response import Conversation
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails
from openai.types.shared import ErrorObject
from pydantic import BaseModel

from understudy.agents.model import Agent
from understudy.api.openai_door import RUN, answer_of, failure_of, kept_of
from understudy.api.problems import refusal_of
from understudy.api.sse import StreamFrame
from understudy.core.errors import UnderstudyError
from understudy.core.showable import showable
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, RunStatus
from understudy.runs.service import RunDetail
from understudy.wire.events import DELTA, DELTA_RESET, OUTPUT

OWNER: Final = "understudy"
AGAIN: Final = "\n\n[The model began its answer again.]\n\n"
DONE: Final = "[DONE]"
MessageStatus = Literal["in_progress", "completed", "incomplete"]
Status = Literal["queued", "in_progress", "completed", "failed", "cancelled"]
STATUSES: Final[dict[RunStatus, Status]] = {
    RunStatus.QUEUED: "queued",
    RunStatus.RUNNING: "in_progress",
    RunStatus.WAITING_FOR_APPROVAL: "in_progress",
    RunStatus.WAITING_FOR_USER_QUESTION: "in_progress",
    RunStatus.COMPLETED: "completed",
    RunStatus.FAILED: "failed",
    RunStatus.CANCELLED: "cancelled",
    RunStatus.INTERRUPTED: "cancelled",
}


def text_of(answer: BaseModel) -> str:
    """An answer as JSON: the fields that were set, in ASCII, so that no text can break a line."""
    return answer.model_dump_json(exclude_unset=True, ensure_ascii=True)


def event_of(answer: BaseModel | str, name: str | None = None) -> bytes:
    """An answer as an event of a stream."""
    text = answer if isinstance(answer, str) else text_of(answer)
    return format_sse_event(data_str=text, event=name)


def model_of(agent: Agent) -> Model:
    """An agent as a model."""
    created = agent.created_at_ms // 1000
    return Model(id=agent.agent_id, created=created, object="model", owned_by=OWNER)


def completion_of(detail: RunDetail, waits: str | None) -> ChatCompletion:
    """A run as a chat completion."""
    run = detail.run
    said = ChatCompletionMessage(
        role="assistant", content=str(showable(answer_of(detail, waits))), refusal=None
    )
    choice = Choice(index=0, finish_reason="stop", logprobs=None, message=said)
    return ChatCompletion(
        id=_id("chatcmpl", run),
        object="chat.completion",
        created=run.submitted_at_ms // 1000,
        model=run.agent_id,
        choices=[choice],
        usage=_chat_usage(run),
    )


def response_of(detail: RunDetail, waits: str | None) -> wire.Response:
    """A run as a response."""
    run, kept = detail.run, kept_of(detail.run)
    told = [str(event.data.get("text", "")) for event in detail.outputs] + [waits or ""]
    metadata = (run.input.metadata or {}).items()
    return wire.Response(
        id=_id("resp", run),
        object="response",
        created_at=run.submitted_at_ms / 1000,
        completed_at=run.finished_at_ms / 1000 if run.finished_at_ms else None,
        status=STATUSES[run.status],
        background=bool(kept.get("background")),
        model=run.agent_id,
        output=[_message(run, number, text) for number, text in enumerate(told) if text],
        error=_error(run) if run.status is RunStatus.FAILED else None,
        incomplete_details=None,
        instructions=None,
        metadata={name: it for name, it in metadata if isinstance(it, str)},
        conversation=Conversation(id=run.session_id),
        previous_response_id=kept.get("previous_response_id"),
        temperature=run.route.generation.get("temperature"),
        top_p=run.route.generation.get("top_p"),
        max_output_tokens=run.route.generation.get("max_tokens"),
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
        usage=_usage(run) if run.status in TERMINAL else None,
    )


@dataclass(slots=True)
class ChatSpeaker:
    """A run as chunks of a chat completion."""

    run: Run
    with_usage: bool
    step: int | None = None

    def begun(self) -> Iterator[bytes]:
        """The chunk with the role."""
        yield self._chunk(ChoiceDelta(role="assistant", content=""))

    def frame(self, frame: StreamFrame) -> Iterator[bytes]:
        """A piece of the text; what one step says is apart from the next."""
        if frame.event == DELTA_RESET:
            yield self._text(AGAIN)
        elif frame.event == DELTA:
            step, text = frame.data["step"], frame.data["text"]
            gap = "\n\n" if self.step not in (None, step) else ""
            self.step = step
            yield self._text(gap + text)

    def ended(self, detail: RunDetail, waits: str | None) -> Iterator[bytes]:
        """The last chunks; an error for a run without an answer."""
        if detail.run.status in TERMINAL - {RunStatus.COMPLETED}:
            yield from self.broken(failure_of(detail.run))
            return
        if waits:
            yield self._text(("\n\n" if self.step is not None else "") + waits)
        yield self._chunk(ChoiceDelta(), finish="stop")
        if self.with_usage:
            yield event_of(self._of([], usage=_chat_usage(detail.run)))
        yield event_of(DONE)

    def broken(self, error: UnderstudyError) -> Iterator[bytes]:
        """An error instead of the rest."""
        told = ErrorObject.model_validate(refusal_of(error).openai_error())
        yield event_of(f'{{"error":{text_of(told)}}}')

    def _text(self, text: str) -> bytes:
        return self._chunk(ChoiceDelta(content=str(showable(text))))

    def _chunk(self, delta: ChoiceDelta, finish: Literal["stop"] | None = None) -> bytes:
        choice = ChunkChoice(index=0, delta=delta, finish_reason=finish, logprobs=None)
        return event_of(self._of([choice]))

    def _of(self, choices: list[ChunkChoice], **more: Any) -> ChatCompletionChunk:
        return ChatCompletionChunk(
            id=_id("chatcmpl", self.run),
            object="chat.completion.chunk",
            created=self.run.submitted_at_ms // 1000,
            model=self.run.agent_id,
            choices=choices,
            **({"usage": None} if self.with_usage else {}) | more,
        )


@dataclass(slots=True)
class ResponseSpeaker:
    """A run as the events of a response: one message for each text of the model."""

    detail: RunDetail
    number: int = 0
    index: int = 0
    # The step whose message is open, and its text so far.
    step: int | None = None
    text: str = ""

    def begun(self) -> Iterator[bytes]:
        """The response as it begins."""
        started = response_of(self.detail, None).model_copy(
            update={"status": "in_progress", "output": []}
        )
        yield self._event(wire.ResponseCreatedEvent, "created", response=started)
        yield self._event(wire.ResponseInProgressEvent, "in_progress", response=started)

    def frame(self, frame: StreamFrame) -> Iterator[bytes]:
        """A piece of a message, or its end."""
        if frame.event == DELTA:
            if self.step != frame.data["step"]:
                yield from self._close("completed")
                yield from self._open(frame.data["step"])
            yield self._delta(frame.data["text"])
        elif frame.event == DELTA_RESET:
            yield from self._close("incomplete")
        elif frame.event == OUTPUT:
            yield from self._close("completed")

    def ended(self, detail: RunDetail, waits: str | None) -> Iterator[bytes]:
        """The response as it is at the end, or what it waits for."""
        yield from self._close("completed")
        if waits:
            yield from self._open(-1)
            yield self._delta(waits)
            yield from self._close("completed")
        now = response_of(detail, waits)
        if now.status == "completed":
            yield self._event(wire.ResponseCompletedEvent, "completed", response=now)
        elif now.status == "in_progress":
            yield self._event(wire.ResponseInProgressEvent, "in_progress", response=now)
        else:
            yield self._event(wire.ResponseFailedEvent, "failed", response=now)

    def broken(self, error: UnderstudyError) -> Iterator[bytes]:
        """An error instead of the rest."""
        told = wire.ResponseErrorEvent(
            type="error",
            code=error.code,
            message=error.detail,
            param=None,
            sequence_number=self.number,
        )
        yield event_of(told, "error")

    def _open(self, step: int) -> Iterator[bytes]:
        self.step, self.text = step, ""
        item = self._item("in_progress").model_copy(update={"content": []})
        yield self._event(wire.ResponseOutputItemAddedEvent, "output_item.added", item=item)
        part = _text("")
        yield self._event(wire.ResponseContentPartAddedEvent, "content_part.added", part=part)

    def _delta(self, text: str) -> bytes:
        delta = str(showable(text))
        self.text += delta
        return self._event(
            wire.ResponseTextDeltaEvent, "output_text.delta", delta=delta, logprobs=[]
        )

    def _close(self, status: MessageStatus) -> Iterator[bytes]:
        if self.step is None:
            return
        item, part = self._item(status), _text(self.text)
        done = {"text": self.text, "logprobs": []}
        yield self._event(wire.ResponseTextDoneEvent, "output_text.done", **done)
        yield self._event(wire.ResponseContentPartDoneEvent, "content_part.done", part=part)
        yield self._event(wire.ResponseOutputItemDoneEvent, "output_item.done", item=item)
        self.step, self.index = None, self.index + 1

    def _item(self, status: MessageStatus) -> wire.ResponseOutputMessage:
        return _message(self.detail.run, self.index, self.text, status)

    def _event(self, kind: Any, name: str, **fields: Any) -> bytes:
        """The next event; one that is not about the whole response says which part it is about."""
        if "response" not in fields:
            fields["output_index"] = self.index
        if "response" not in fields and "item" not in fields:
            item_id = _id("msg", self.detail.run, self.index)
            fields |= {"item_id": item_id, "content_index": 0}
        name = f"response.{name}"
        event = kind(type=name, sequence_number=self.number, **fields)
        self.number += 1
        return event_of(event, name)


def _id(kind: str, run: Run, *number: int) -> str:
    return "_".join((kind, run.run_id.removeprefix(RUN), *map(str, number)))


def _text(text: str) -> wire.ResponseOutputText:
    return wire.ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])


def _message(
    run: Run, number: int, text: str, status: MessageStatus = "completed"
) -> wire.ResponseOutputMessage:
    return wire.ResponseOutputMessage(
        id=_id("msg", run, number),
        type="message",
        role="assistant",
        status=status,
        content=[_text(str(showable(text)))],
    )


def _error(run: Run) -> wire.ResponseError:
    return wire.ResponseError(code="server_error", message=str(showable(failure_of(run).detail)))


def _chat_usage(run: Run) -> CompletionUsage:
    used = run.usage
    return CompletionUsage(
        prompt_tokens=used.input_tokens,
        completion_tokens=used.output_tokens,
        total_tokens=used.input_tokens + used.output_tokens,
    )


def _usage(run: Run) -> wire.ResponseUsage:
    used = run.usage
    cached = InputTokensDetails(cached_tokens=used.cache_read_tokens, cache_write_tokens=0)
    return wire.ResponseUsage(
        input_tokens=used.input_tokens,
        input_tokens_details=cached,
        output_tokens=used.output_tokens,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
        total_tokens=used.input_tokens + used.output_tokens,
    )
