"""The tool by which an agent suggests what to remember: candidates with the request as evidence."""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, Field

from understudy.core.clock import Clock
from understudy.core.errors import Invalid
from understudy.core.principal import DAEMON
from understudy.learnings.already_decided import declined, evidence_digest, is_known
from understudy.learnings.checks import check_says_something
from understudy.learnings.decisions import awaiting_evidence
from understudy.learnings.events import NO_LISTENERS, Listeners, candidates_added, tell
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.learnings.model import (
    MAX_CONTENT_CHARS,
    OPEN,
    SEMANTIC_KINDS,
    Applies,
    Candidate,
    CapturePath,
    EvidenceRef,
    Kind,
    LearningSource,
    Origin,
)
from understudy.learnings.proposal import NewCandidate, make_candidate, store
from understudy.learnings.standing import proposed_applies
from understudy.learnings.taint import model_may_repeat_untrusted
from understudy.memory.record import RunEvidence
from understudy.memory.texts import EVIDENCE_BYTES, Cleaner, cut_bytes, request_text
from understudy.runs.model import Run, RunTrace, require_run
from understudy.runs.taint import TYPED, untrusted_path
from understudy.sessions.learning_scopes import session_scope
from understudy.sessions.model import require_session
from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError, in_thread

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

REMEMBER: Final = "remember"
# A user says a few things worth remembering in one message; more is a model that copies a text.
MAX_PER_RUN: Final = 5
SUGGESTED: Final = (
    "suggested: a person reviews it before later conversations are told of it. Say so to the user;"
    " do not claim that it is remembered."
)
KNOWN: Final = "known already: nothing new was suggested"
DECLINED: Final = "declined before: a person said no to this, so it was not suggested again"
NO_USER: Final = "nothing was suggested: only a session with a user has something to remember"
TOO_MANY: Final = (
    f"not suggested: a run suggests at most {MAX_PER_RUN} things to remember. Name the rest to the"
    " user instead."
)


# A person, and near it a verb of wishing.
_WISH: Final = re.compile(
    r"\b(?:i|we|the user)(?:['\u2019]d)?\s(?:[\w'\u2019]+\s){0,3}"
    r"(?:prefer|like|love|want|wish|hate|dislike|favou?r)s?\b"
    r"|[我咱]们?.{0,6}(?:喜欢|偏好|偏爱|想要|希望|讨厌|不想)"
    r"|\b(?:tôi|mình|chúng tôi)\s(?:\w+\s){0,3}(?:thích|muốn|ghét|ưa)\b",
    re.IGNORECASE,
)


class RememberParameters(Parameters):
    """What `remember` takes."""

    content: str = Field(
        min_length=1,
        max_length=MAX_CONTENT_CHARS,
        description="One self-contained statement, in the user's own words where possible.",
    )
    kind: Literal["fact", "preference", "decision"] | None = Field(
        default=None,
        description="preference: how the user wants things done; decision: what was agreed;"
        " fact: everything else.",
    )
    standing: bool = Field(
        default=False,
        description="True for an instruction that holds for every task, such as 'always answer in"
        " German'.",
    )


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Stores what agents suggest to remember, and queues its review when the run has ended."""

    units: "Units"
    clock: Clock
    listeners: Listeners = NO_LISTENERS
    guard: SecretGuard = NO_LITERALS

    def suggest(self, wanted: RememberParameters, context: ToolContext) -> str:
        """Propose a candidate for the session of a run; returns the text for the model."""
        with self.units.read() as unit:
            run = require_run(unit, context.run_id)
        if run.trial_id is not None or run.kind not in TYPED:
            raise ToolError(NO_USER, code="no_user")
        evidence = self._evidence(run)
        made = self._candidate(wanted, context, run)
        with self.units.write() as unit:
            if require_session(unit, run.session_id).parent_session_id is not None:
                raise ToolError(NO_USER, code="no_user")
            return self._propose(unit, made, run, evidence)

    def ended(self, unit: "Unit", run: Run) -> None:
        """Queue the reviews of a run's suggestions: from now on its request is evidence."""
        if RunTrace.CANDIDATE not in unit.traces(run):
            return
        open_ones = [
            it.candidate_id
            for it in suggested_in(unit, run.run_id)
            if it.state in OPEN or awaiting_evidence(unit, it) is not None
        ]
        if open_ones:
            unit.review_queue.put(open_ones, due_at_ms=self.clock.now_ms())
            unit.after_commit(self.listeners.review)

    def _evidence(self, run: Run) -> RunEvidence:
        """The request of a run, scrubbed and cut as its run memory will have it."""
        clean = Cleaner(literals=self.guard.literals).clean(request_text(run))
        return RunEvidence(request=cut_bytes(clean.text, EVIDENCE_BYTES), outcome="")

    def _candidate(self, wanted: RememberParameters, context: ToolContext, run: Run) -> Candidate:
        """The candidate of a call; outside a transaction, because the checks take time."""
        now = self.clock.now_ms()
        new = NewCandidate(
            scope=session_scope(run.session_id),
            kind=Kind(wanted.kind) if wanted.kind else kind_of(wanted.content, wanted.standing),
            content=wanted.content,
            applies=Applies.ALWAYS if wanted.standing else None,
            source=LearningSource(
                run_id=run.run_id,
                session_id=run.session_id,
                agent_id=run.agent_id,
                derivation_id=context.call_digest,
            ),
            evidence_refs=(EvidenceRef(run_id=run.run_id),),
            capture_path=CapturePath.MODEL,
        )
        try:
            self.guard.check({"/content": new.content})
            check_says_something(new.content)
            return make_candidate(new, origin=Origin.DAEMON, now_ms=now)
        except Invalid as problem:
            raise ToolError(f"not suggested: {problem.detail}", code=problem.code) from None

    def _propose(self, unit: "Unit", made: Candidate, run: Run, evidence: RunEvidence) -> str:
        before = suggested_in(unit, run.run_id)
        if any(it.source.derivation_id == made.source.derivation_id for it in before):
            # A crash came before the result was written, so the call is repeated.
            return SUGGESTED
        now = made.created_at_ms
        if any(
            is_known(unit, made.scope, kind, made.semantic_key, now_ms=now)
            for kind in SEMANTIC_KINDS
        ):
            return KNOWN
        digest = evidence_digest(made.content, evidence)
        no = declined(unit, made.scope, made.kind, made.content, digest=digest)
        if no is not None and no.is_repeated:
            return DECLINED
        if len(before) >= MAX_PER_RUN:
            raise ToolError(TOO_MANY, code="too_many_suggestions")
        candidate = replace(
            made,
            # Answers of tools in this run count.
            derived_from_untrusted=model_may_repeat_untrusted(
                run,
                untrusted_path(unit, run),
                statement=made.content,
                request=evidence.request,
            ),
            reproposal_of=no.candidate_id if no else None,
            declined_before=no is not None,
            evidence_digest=digest,
        )
        told = store(unit, candidate, by=DAEMON, now_ms=now, listeners=self.listeners)
        added = candidates_added(candidate.source, [candidate.candidate_id])
        tell(unit, (added,) if told is None else (told, added), at_ms=now)
        return SUGGESTED


def kind_of(content: str, is_standing: bool = False) -> Kind:
    """The kind of a statement for which nobody named one: a wish or an order is a preference."""
    if is_standing or _WISH.search(content):
        return Kind.PREFERENCE
    is_order = proposed_applies(content, Kind.PREFERENCE) is Applies.ALWAYS
    return Kind.PREFERENCE if is_order else Kind.FACT


def suggested_in(unit: "Unit", run_id: str) -> tuple[Candidate, ...]:
    """The candidates that the agent suggested in a run; capture proposes the others."""
    return tuple(it for it in unit.candidates.of_run(run_id) if is_suggested(it))


def is_suggested(candidate: Candidate) -> bool:
    """Whether an agent suggested a candidate by a call of `remember`."""
    return candidate.source.derivation_id is not None


class Remember:
    """Suggests a candidate; nothing is used before it is reviewed, so nobody is asked first."""

    name = REMEMBER
    description = (
        "Suggest something that the user said to be remembered in later conversations: a lasting"
        " preference, fact or decision. Use it when the user asks you to remember something, or"
        " says how you should always work. Not for secrets, for what tools answered, or for what"
        " only matters now. A person reviews each suggestion before it is used."
    )
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = RememberParameters

    def __init__(self, suggestions: Suggestions) -> None:
        self._suggestions = suggestions

    async def call(self, arguments: RememberParameters, context: ToolContext) -> str:
        """The outcome of the suggestion."""
        return await in_thread(self._suggestions.suggest, arguments, context)
