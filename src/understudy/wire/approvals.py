"""Approvals and questions on the wire."""

from typing import Annotated, Literal

from pydantic import Field, computed_field

from understudy.runs.requests import Audience, RequestState
from understudy.wire.base import Id, JsonObject, Omitted, RequestBody, View

Words = Annotated[str, Field(max_length=16_000)]


class ApprovalResolution(RequestBody):
    """The decision on one tool call or offer: `allow` accepts it."""

    request_id: Id
    """The approval or the offer."""
    behavior: Literal["allow", "deny"]
    """`allow`, which accepts an offer, or `deny`."""
    updated_input: JsonObject | None = None
    """Other arguments for the call; with `allow`."""
    justification: Words | None = None
    """Why it is allowed or denied, for the record."""
    reason: Words | None = None
    """The reason that the model is told."""
    for_session: bool = False
    """With `allow`, add `session_rule` to the session, so that nobody is asked again."""


class ResolveApprovals(RequestBody):
    """Decisions that take effect together, or not at all."""

    resolutions: list[ApprovalResolution] = Field(max_length=256)
    """One decision per tool call or offer."""
    idempotency_key: str | None = None
    """A repeat with the same key changes nothing more."""


class AnswerBody(RequestBody):
    """The answer to one question: options, words, or both."""

    question_id: Id
    """The question."""
    selected_option_ids: list[Id] = Field(default_factory=list, max_length=100)
    """The options that are chosen."""
    freeform_answer: str | None = None
    """An answer in words."""


class QuestionResolutionBody(RequestBody):
    """The answers to one request, or a refusal to answer."""

    request_id: Id
    """The request that has the questions."""
    answers: list[AnswerBody] = Field(default_factory=list, max_length=100)
    """One answer per question."""
    declined: bool = False
    """Whether nobody is going to answer."""
    justification: Words | None = None
    """Why, for the record."""


class ResolveQuestion(RequestBody):
    """An answer."""

    resolution: QuestionResolutionBody
    """The answers, or the refusal to answer."""
    idempotency_key: str | None = None
    """A repeat with the same key changes nothing more."""


class CancelQuestion(RequestBody):
    """Withdraw a question."""

    idempotency_key: str | None = None
    """A repeat with the same key changes nothing more."""


class RequestView(View):
    """A request to people; paths and answers call its `id` `request_id`."""

    id: str

    @computed_field
    @property
    def request_id(self) -> str:
        """The same as `id`."""
        return self.id


class ApprovalView(RequestView):
    """A tool call that waits, or waited, for a person to agree; or an offer, which no run waits for.

    Of an offer, `reason` is the question, `tool_name` and `input` what would be called, `allowed`
    means accepted and `denied` declined. Only the user that it was made to can answer it.
    `actions` are what the caller can do about it now.
    """

    kind: Literal["approval", "offer"] = "approval"
    run_id: str
    session_id: str
    tool_call_id: str
    tool_name: str
    input: JsonObject
    # Whether long texts of the input are left out here; the approval itself has them.
    input_cut: Omitted[bool] = None
    # The level whose rule asks: tool, daemon, agent or session. An offer is for the user.
    scope: str
    reason: str
    # Only for offers: the user, the purpose, and the origin.
    user_id: Omitted[str] = None
    purpose: Omitted[str] = None
    origin: Omitted[str] = None
    # The rule that `for_session` adds: the tool, of `shell` the exact command; absent if it cannot.
    session_rule: Omitted[JsonObject] = None
    state: RequestState
    created_at_ms: int
    expires_at_ms: Omitted[int] = None
    resolution: Omitted[JsonObject] = None
    resolved_by: Omitted[str] = None
    resolved_at_ms: Omitted[int] = None
    actions: list[str] = Field(default_factory=list)


class OptionView(View):
    """One way to answer."""

    id: str
    label: str
    description: Omitted[str] = None
    preview: Omitted[str] = None


class AskedView(View):
    """One question."""

    id: str
    header: str = ""
    question: str
    options: list[OptionView] = Field(default_factory=list)
    multi_select: bool = False


class QuestionView(RequestView):
    """Questions that wait, or waited, for answers.

    `audience` is who is asked, `actions` what the caller can do about it now.
    """

    run_id: str
    session_id: str
    tool_call_id: str
    audience: Audience
    questions: list[AskedView]
    state: RequestState
    created_at_ms: int
    expires_at_ms: Omitted[int] = None
    resolution: Omitted[JsonObject] = None
    resolved_by: Omitted[str] = None
    resolved_at_ms: Omitted[int] = None
    actions: list[str] = Field(default_factory=list)
