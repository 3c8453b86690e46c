"""The inbox: approvals, questions, proposals, drafts, rollout steps and candidates that wait."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest, decode_cursor, encode_cursor
from understudy.core.principal import Principal, Role
from understudy.core.records import OMIT_EMPTY, Omitted
from understudy.core.text import preview
from understudy.evolution.proposals import FileProposal
from understudy.inbox.second_approvals import current_count, current_page
from understudy.learnings.model import Candidate, CandidateState, Sensitivity
from understudy.learnings.reach import suggested_scope
from understudy.rollout.guards import actions_of as rollout_actions
from understudy.rollout.model import Rollout
from understudy.rollout.service import RolloutService, WaitingStep
from understudy.runs.expiry import expire_due
from understudy.runs.requests import PersonRequest, RequestKind, actions_of
from understudy.runtime.two_people import SecondApproval, person_of
from understudy.sessions.learning_scopes import ScopeKind
from understudy.skills.model import SkillDraft, SkillVersion

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

TITLE_CHARS: Final = 200


class InboxKind(StrEnum):
    """The kinds of items in the order of the inbox: first those that block a run."""

    APPROVAL = "approval"
    QUESTION = "question"
    SECOND_APPROVAL = "second_approval"
    SOUL_PROPOSAL = "soul_proposal"
    SKILL_DRAFT = "skill_draft"
    ROLLOUT_STEP = "rollout_step"
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """One item that waits for a person; its own operations show and decide it."""

    kind: InboxKind
    # The id of the candidate, request, proposal or skill; for a rollout step the skill's name.
    id: str
    # A preview: the statement, the call, the question, the file or the skill.
    title: str
    session_id: Omitted[str] = None
    run_id: Omitted[str] = None
    agent_id: Omitted[str] = None
    created_at_ms: int
    # Labels such as the kind of a candidate and the scope that is suggested for it.
    tags: Annotated[tuple[str, ...], OMIT_EMPTY] = ()
    # The version of a candidate, to be sent with the decision; for a draft its number.
    version: Omitted[int] = None
    # The decisions that the caller may make now.
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPage:
    """A page of the inbox, and the number of items of each kind visible to the caller."""

    items: tuple[InboxItem, ...]
    next_cursor: str | None = None
    counts: Mapping[InboxKind, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxService:
    """Lists the items kind by kind; each kind takes one query, however many items wait."""

    units: "Units"
    clock: Clock
    rollouts: RolloutService

    def page(
        self, principal: Principal, request: PageRequest, *, kind: InboxKind | None = None
    ) -> InboxPage:
        """The items, of all kinds or of one; candidates come last, in review order."""
        expire_due(self.units, self.clock)
        with self.units.read() as unit:
            shelves = self._shelves(unit, principal)
            counts = {each: shelf.count() for each, shelf in shelves.items()}
            wanted = {each: shelf for each, shelf in shelves.items() if kind in (None, each)}
            items, next_cursor = _filled(wanted, counts, request)
        return InboxPage(items=items, next_cursor=next_cursor, counts=counts)

    def _shelves(self, unit: "Unit", principal: Principal) -> "dict[InboxKind, _Shelf]":
        now = self.clock.now_ms()
        may_decide = principal.role.includes(Role.OPERATOR)
        steps = _RolloutSteps(self.rollouts.waiting(unit), may_decide=may_decide)
        shelves = {
            InboxKind.APPROVAL: _asked(
                unit, principal, InboxKind.APPROVAL, RequestKind.APPROVAL, RequestKind.OFFER
            ),
            InboxKind.QUESTION: _asked(unit, principal, InboxKind.QUESTION, RequestKind.QUESTION),
            InboxKind.SECOND_APPROVAL: _Shelf(
                count=lambda: current_count(unit, principal, now_ms=now),
                page=lambda request: _each(
                    current_page(unit, principal, request, now_ms=now),
                    lambda it: _second(it, principal),
                ),
            ),
            InboxKind.ROLLOUT_STEP: _Shelf(count=steps.count, page=steps.page),
            InboxKind.CANDIDATE: _Shelf(
                count=lambda: unit.candidates.queue_length(now_ms=now),
                page=lambda request: _each(
                    unit.candidates.queue(request, now_ms=now),
                    lambda it: _candidate(
                        it, suggested_scope(unit, it).kind, may_decide=may_decide
                    ),
                ),
            ),
        }
        # Unapproved texts may contain one user's words, so only owners and admins see them.
        if may_decide:
            owner = None if principal.role.includes(Role.ADMIN) else principal.user_id
            shelves[InboxKind.SKILL_DRAFT] = _Shelf(
                count=lambda: unit.skills.draft_count(owner_id=owner),
                page=lambda request: _each(unit.skills.drafts(request, owner_id=owner), _draft),
            )
            shelves[InboxKind.SOUL_PROPOSAL] = _Shelf(
                count=lambda: unit.proposals.pending_count(owner_id=owner),
                page=lambda request: _each(
                    unit.proposals.pending(request, owner_id=owner), _proposal
                ),
            )
        return {kind: shelves[kind] for kind in InboxKind if kind in shelves}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shelf:
    """The items of one kind: a count and a page function."""

    count: Callable[[], int]
    page: Callable[[PageRequest], Page[InboxItem]]


def _filled(
    shelves: Mapping[InboxKind, _Shelf], counts: Mapping[InboxKind, int], request: PageRequest
) -> tuple[tuple[InboxItem, ...], str | None]:
    """A page over the shelves; the cursor is a shelf's position and a cursor within it."""
    order = list(InboxKind)
    start, *inner = request.after or (0,)
    if type(start) is not int or not 0 <= start < len(order):
        raise coded_error("pagination/invalid_cursor", pointer="/cursor")
    items: list[InboxItem] = []
    for kind, shelf in shelves.items():
        place = order.index(kind)
        if place < start or not counts[kind]:
            continue
        left = request.limit - len(items)
        if left == 0:
            return tuple(items), encode_cursor((place,))
        after = tuple(inner) if place == start and inner else None
        page = shelf.page(PageRequest(limit=left, after=after))
        items += page.items
        if page.next_cursor is not None:
            return tuple(items), encode_cursor((place, *decode_cursor(page.next_cursor)))
    return tuple(items), None


def _each(page: Page[Any], show: Callable[[Any], InboxItem]) -> Page[InboxItem]:
    return Page(items=tuple(map(show, page.items)), next_cursor=page.next_cursor)


def _candidate(candidate: Candidate, scope: ScopeKind, *, may_decide: bool) -> InboxItem:
    marks = {
        "escalated": candidate.state is CandidateState.ESCALATED,
        "sensitive": candidate.sensitivity is Sensitivity.SENSITIVE,
        "untrusted": candidate.derived_from_untrusted,
    }
    return InboxItem(
        kind=InboxKind.CANDIDATE,
        id=candidate.candidate_id,
        title=preview(candidate.content, TITLE_CHARS),
        session_id=candidate.source.session_id,
        run_id=candidate.source.run_id,
        agent_id=candidate.source.agent_id,
        created_at_ms=candidate.created_at_ms,
        tags=(candidate.kind, scope, *(word for word, it in marks.items() if it)),
        version=candidate.version,
        actions=(*candidate.actions, "snooze") if may_decide else (),
    )


def _second(waiting: SecondApproval, reader: Principal) -> InboxItem:
    is_first = person_of(reader) in (waiting.proposed_by, waiting.first_by)
    may_decide = reader.role.includes(Role.OPERATOR)
    return InboxItem(
        kind=InboxKind.SECOND_APPROVAL,
        id=waiting.approval_id,
        title=" ".join((waiting.operation, *map(str, waiting.values.values()))),
        created_at_ms=waiting.created_at_ms,
        tags=tuple(filter(None, (waiting.subject, waiting.proposed_by, waiting.first_by))),
        actions=("withdraw",) if is_first else ("approve",) if may_decide else (),
    )


def _asked(unit: "Unit", principal: Principal, kind: InboxKind, *kinds: RequestKind) -> _Shelf:
    """Approvals and questions; an offer is shown only to the user it was made to."""
    user_id = principal.user_id
    return _Shelf(
        count=lambda: unit.requests.waiting_count(kinds, user_id=user_id),
        page=lambda request: _each(
            unit.requests.waiting(request, kinds, user_id=user_id),
            lambda it: _request(it, kind, principal),
        ),
    )


def _request(request: PersonRequest, kind: InboxKind, reader: Principal) -> InboxItem:
    is_offer = request.kind is RequestKind.OFFER
    tool = str(request.body.get("tool_name", ""))
    return InboxItem(
        kind=kind,
        id=request.request_id,
        title=preview(_said(request), TITLE_CHARS),
        session_id=request.session_id,
        run_id=request.run_id,
        created_at_ms=request.created_at_ms,
        tags=("offer",) if is_offer else (tool,) if tool else (),
        actions=actions_of(request, reader),
    )


def _said(request: PersonRequest) -> str:
    """The question, or the call on one line; tolerates an incomplete stored body."""
    body = request.body
    if request.kind is RequestKind.OFFER:
        return str(body.get("reason", ""))
    if request.kind is RequestKind.APPROVAL:
        arguments = body.get("input")
        given = arguments.values() if isinstance(arguments, Mapping) else ()
        # The first text argument describes the call: its command, path or URL.
        texts = (each for each in given if isinstance(each, str) and each.strip())
        return next(texts, json.dumps(arguments, ensure_ascii=False))
    asked = body.get("questions")
    first = asked[0] if isinstance(asked, list) and asked else {}
    return str(first.get("question", "")) if isinstance(first, Mapping) else ""


def _draft(draft: SkillDraft) -> InboxItem:
    version = draft.version
    agent = (f"for {version.grant_to}",) if version.grant_to else ()
    return InboxItem(
        kind=InboxKind.SKILL_DRAFT,
        id=draft.skill.skill_id,
        title=preview(f"{draft.skill.slug}: {draft.skill.name}", TITLE_CHARS),
        session_id=draft.session_id,
        run_id=version.run_id,
        agent_id=draft.agent_id,
        created_at_ms=version.created_at_ms,
        tags=(
            "new" if draft.skill.is_draft else f"version {version.number}",
            *agent,
            *_untrusted(version),
        ),
        version=version.number,
        actions=("accept", "reject"),
    )


def _untrusted(made: SkillVersion | Rollout) -> tuple[str, ...]:
    return ("untrusted",) if made.derived_from_untrusted else ()


def _proposal(proposal: FileProposal) -> InboxItem:
    return InboxItem(
        kind=InboxKind.SOUL_PROPOSAL,
        id=proposal.proposal_id,
        title=f"{proposal.agent_id}: {proposal.name}"
        + (f" ({proposal.user_id})" if proposal.user_id else ""),
        run_id=proposal.run_id,
        agent_id=proposal.agent_id,
        created_at_ms=proposal.created_at_ms,
        tags=(proposal.name,),
        actions=proposal.actions,
    )


@dataclass(frozen=True, slots=True)
class _RolloutSteps:
    """Rollouts that a person can advance, or that are on hold, by name."""

    waiting: tuple[WaitingStep, ...]
    may_decide: bool

    def count(self) -> int:
        return len(self.waiting)

    def page(self, request: PageRequest) -> Page[InboxItem]:
        after = request.after or ("",)
        if len(after) != 1 or not isinstance(after[0], str):
            raise coded_error("pagination/invalid_cursor", pointer="/cursor")
        left = [it for it in self.waiting if it.record.skill_name > after[0]]
        shown = left[: request.limit]
        more = len(left) > len(shown)
        return Page(
            items=tuple(map(self._item, shown)),
            next_cursor=encode_cursor((shown[-1].record.skill_name,)) if more else None,
        )

    def _item(self, step: WaitingStep) -> InboxItem:
        record = step.record
        return InboxItem(
            kind=InboxKind.ROLLOUT_STEP,
            id=record.skill_name,
            title=preview(f"{record.skill_name}: {record.definition.description}", TITLE_CHARS),
            created_at_ms=record.updated_at_ms,
            tags=(
                record.status,
                step.next if step.next is not None else "held",
                *_untrusted(record),
            ),
            actions=rollout_actions(record) if self.may_decide else (),
        )
