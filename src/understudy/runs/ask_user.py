"""The tool by which an agent asks people, or a sidechain its parent, questions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from understudy.core.clock import Clock
from understudy.core.ids import new_id
from understudy.runs.answers import answer_text
from understudy.runs.requests import Audience, PersonRequest, RequestKind, RequestState
from understudy.sessions.model import require_session
from understudy.tools.base import (
    Approval,
    Effect,
    NotYet,
    OwnWords,
    ToolContext,
    ToolError,
    WaitsFor,
    in_thread,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Units

TYPED_CHARS: Final = 1_000
MAX_EXPIRY_S: Final = 366 * 24 * 3600
Short = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[str, Field(min_length=1, max_length=4_000)]
# People type ids, and read them within sentences.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,64}$")]


class Option(BaseModel):
    """One way to answer."""

    model_config = ConfigDict(extra="forbid")

    label: Short
    id: Name = ""
    description: Annotated[str, Field(max_length=2_000)] | None = None
    preview: Annotated[str, Field(max_length=8_000)] | None = None


class Question(BaseModel):
    """One question; without options the answer is written freely."""

    model_config = ConfigDict(extra="forbid")

    question: Words
    id: Name = ""
    header: Annotated[str, Field(max_length=200)] = ""
    options: list[Option] = Field(default_factory=list, max_length=20)
    multi_select: bool = False


class AskUserParameters(BaseModel):
    """What to ask."""

    model_config = ConfigDict(extra="forbid")

    questions: list[Question] = Field(min_length=1, max_length=10)
    expires_in_s: int | None = Field(
        default=None, ge=1, le=MAX_EXPIRY_S, description="the run is cancelled when this passes"
    )

    @model_validator(mode="after")
    def _have_ids(self) -> "AskUserParameters":
        """Fill in missing ids (q1, o1, …), keep them apart from numbers, and refuse duplicates."""
        for number, question in enumerate(self.questions, start=1):
            question.id = question.id or f"q{number}"
            for place, option in enumerate(question.options, start=1):
                option.id = option.id or f"o{place}"
                # A typed number means the position on the screen.
                if option.id.isdigit():
                    option.id = f"o{option.id}"
            _refuse_doubles([option.id for option in question.options])
        _refuse_doubles([question.id for question in self.questions])
        return self


def _refuse_doubles(ids: list[str]) -> None:
    if len(set(ids)) < len(ids):
        raise ValueError("two have the same id")


class Asks(NotYet):
    """Raised by a tool call that makes a request and waits for its resolution."""

    def __init__(self, request: PersonRequest | None = None) -> None:
        super().__init__(WaitsFor.QUESTION)
        self.request = request


class AskUser:
    """Asks questions, sleeps, and returns the answers."""

    name = "ask_user"
    description = (
        "Ask the user one or more questions and wait for the answers, which may take days. Offer "
        "options where you can; leave them out where only words will do."
    )
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = AskUserParameters

    def __init__(self, units: "Units", clock: Clock, expires_after_s: int | None = None) -> None:
        self._units = units
        self._clock = clock
        # Expiry where the model sets none; None means never.
        self._expires_after_s = expires_after_s

    async def call(self, arguments: AskUserParameters, context: ToolContext) -> str:
        """The answers, once the request is resolved."""
        request, audience = await in_thread(self._look, context)
        if request is None:
            raise Asks(self._new(arguments, context, audience))
        if request.state is RequestState.PENDING:
            raise Asks
        answered = outcome_text(request)
        is_own = request.audience is Audience.USER and request.resolved_by == context.user_id
        # A longer answer was probably pasted.
        return OwnWords(answered) if is_own and len(answered) <= TYPED_CHARS else answered

    def _look(self, context: ToolContext) -> tuple[PersonRequest | None, Audience]:
        with self._units.read() as unit:
            session = require_session(unit, context.session_id)
            asked = unit.requests.of_call(context.call_key)
        return asked, Audience.PARENT if session.parent_session_id else Audience.USER

    def _new(
        self, arguments: AskUserParameters, context: ToolContext, audience: Audience
    ) -> PersonRequest:
        now = self._clock.now_ms()
        seconds = arguments.expires_in_s or self._expires_after_s
        return PersonRequest(
            request_id=new_id("qst"),
            kind=RequestKind.QUESTION,
            run_id=context.run_id,
            session_id=context.session_id,
            call_key=context.call_key,
            audience=audience,
            body=_body(arguments, context),
            created_at_ms=now,
            expires_at_ms=None if seconds is None else now + seconds * 1000,
        )


def outcome_text(request: PersonRequest) -> str:
    """The outcome of a resolved question as text for the model."""
    match request.state:
        case RequestState.ANSWERED:
            return answer_text(request.body["questions"], request.resolution or {})
        case RequestState.EXPIRED:
            raise ToolError("nobody answered in time", code="question_expired")
        case _:
            why = (request.resolution or {}).get("justification")
            said = f": {why}" if why else ""
            raise ToolError(f"they would rather not answer{said}", code="question_declined")


def _body(arguments: AskUserParameters, context: ToolContext) -> Mapping[str, Any]:
    questions = [question.model_dump(exclude_none=True) for question in arguments.questions]
    return {"tool_call_id": context.call_id, "questions": questions}
