"""Changes that need two approvers: whose approval counts, what waits, and who completes it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.page import MAX_LIMIT, Page, PageRequest, decode_cursor
from understudy.core.principal import Principal
from understudy.core.rehearsal import Rehearsed, premise, rehearsal
from understudy.rollout.model import Rollout, RolloutEventName, Stage
from understudy.runs.submission import fingerprint
from understudy.runtime.service import current_revision
from understudy.runtime.two_people import (
    KEPT_MS,
    SecondApproval,
    TwoApprovers,
    person_of,
    required,
)
from understudy.skills.access import knows
from understudy.skills.model import Skill, SkillVersion, VersionState

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The most rollout events read to find the author of a definition.
MOST_EVENTS: Final = PageRequest(limit=200)


# The pending change that the calls of this context answer.
_answered: Final[ContextVar[str]] = ContextVar("answered_approval", default="")


@contextmanager
def answering(approval_id: str) -> Iterator[None]:
    """Have the calls within answer a pending change; they begin none."""
    token = _answered.set(approval_id)
    try:
        yield
    finally:
        _answered.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Content that is to take effect: who wrote it, whose word is not asked for, and its digest.

    A part of it that somebody wrote before has no digest: that of the whole covers it.
    """

    by: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedChange:
    """A requested change that may need two approvers."""

    units: "Units"
    clock: Clock
    principal: Principal
    subject: TwoApprovers
    operation: str
    values: dict[str, Any]
    body: Any = None
    # The id of the pending change that the caller answers; empty when the caller begins one.
    answers: str = ""

    def gated(self) -> "GatedChange | None":
        """The change with the pending one that it answers; None if one person may make it."""
        with self.units.read() as unit:
            if self.subject not in required(current_revision(unit).document):
                return None
            mark = mark_of(self, MADE[self.subject](unit, self))
            waiting = unit.second_approvals.same(mark, now_ms=self.clock.now_ms())
        named = _answered.get() or (waiting.approval_id if waiting else "")
        return replace(self, answers=named)

    def carry_out(self, act: Callable[[], object]) -> SecondApproval | None:
        """Make the change if the caller's approval suffices; else return the pending one."""
        change = self.gated()
        if change is None or not _writes(act):
            act()
            return None
        waiting = change.approve_first()
        if waiting is not None:
            return waiting
        with change.as_second():
            act()
        return None

    def approve_first(self) -> SecondApproval | None:
        """Note who approves it, and answer what waits; None when the caller would be the second."""
        now, person = self.clock.now_ms(), person_of(self.principal)
        with self.units.write() as unit:
            mark = self._mark(unit)
            # One after another: each sees what the one before has stored. No slug is locked here.
            unit.skills.lock_name(mark)
            unit.second_approvals.sweep(now_ms=now)
            waiting = unit.second_approvals.same(mark, now_ms=now)
            self._require_pending(unit, waiting, now)
            if waiting is None:
                waiting = self._begin(person, now, mark)
                unit.second_approvals.put(waiting)
                self._audit(unit, "second_approvals.wait", waiting, now)
            elif person in (waiting.proposed_by, waiting.first_by):
                pass
            elif waiting.first_by:
                return None
            else:
                self._take(unit, waiting)
                waiting = replace(waiting, first_by=person)
                unit.second_approvals.put(waiting)
                self._audit(unit, "second_approvals.approve", waiting, now)
            return waiting

    def as_second(self) -> AbstractContextManager[None]:
        """Within, the first unit that writes takes what waits, in the same transaction.

        Whatever was written since the first approval is seen there, so no other text is activated.
        """
        is_done: list[bool] = []

        def take(unit: "Unit") -> None:
            if is_done:
                return
            now, person = self.clock.now_ms(), person_of(self.principal)
            _lock(unit, self)
            waiting = unit.second_approvals.same(self._mark(unit), now_ms=now)
            self._require_pending(unit, waiting, now)
            people = () if waiting is None else (waiting.proposed_by, waiting.first_by)
            if waiting is None or not waiting.first_by or person in people:
                raise coded_error("two_approvers/subject_changed")
            self._take(unit, waiting)
            self._audit(unit, "second_approvals.approve", waiting, now, second=person)
            unit.after_commit(partial(is_done.append, True))

        return premise(take)

    def _require_pending(self, unit: "Unit", waiting: SecondApproval | None, now_ms: int) -> None:
        """Refuse an answer to what is no longer pending: it must not begin the change once more."""
        if not self.answers or (waiting is not None and waiting.approval_id == self.answers):
            return
        if unit.second_approvals.get(self.answers, now_ms=now_ms) is None:
            raise coded_error("two_approvers/already_decided", approval_id=self.answers)
        raise coded_error("two_approvers/subject_changed")

    def _take(self, unit: "Unit", waiting: SecondApproval) -> None:
        if not unit.second_approvals.take(waiting.approval_id):
            raise coded_error("two_approvers/already_decided", approval_id=waiting.approval_id)

    def _mark(self, unit: "Unit") -> str:
        """What the change is known by; `Rejected` for who wrote what is to take effect."""
        made, person = frozenset(MADE[self.subject](unit, self)), person_of(self.principal)
        # `ada as bob` is Ada.
        if person in {each.by.partition(" as ")[0] for each in made}:
            raise coded_error("two_approvers/proposer_does_not_count", user_id=person)
        return mark_of(self, made)

    def _begin(self, person: str, now: int, mark: str) -> SecondApproval:
        # The caller who proposes a policy is its author; skills and candidates existed before.
        is_author = self.subject is TwoApprovers.POLICY_CHANGE
        return SecondApproval(
            approval_id=new_id("two"),
            subject=self.subject,
            operation=self.operation,
            values=self.values,
            body=self.body,
            proposed_by=person if is_author else None,
            first_by="" if is_author else person,
            created_at_ms=now,
            expires_at_ms=now + KEPT_MS,
            fingerprint=mark,
        )

    def _audit(
        self, unit: "Unit", action: str, waiting: SecondApproval, now: int, second: str = ""
    ) -> None:
        people = {
            "proposed by": waiting.proposed_by,
            "first": waiting.first_by,
            "second": second if second != waiting.first_by else "",
        }
        told = ", ".join(f"{part} {name}" for part, name in people.items() if name)
        reason = f"{waiting.operation}: {told}"
        unit.audit.add(
            audit.done(self.principal, action, waiting.approval_id, at_ms=now, reason=reason)
        )


# What a change is about: one that somebody asks for, or one that waits.
Asked: TypeAlias = GatedChange | SecondApproval


def mark_of(change: Asked, made: Iterable[Made]) -> str:
    """The same for the same call about the same content: who approved one text approved no other."""
    content = sorted({each.digest for each in made if each.digest})
    asked = {"values": change.values, "body": change.body, "content": content}
    return fingerprint(change.operation, asked)


def is_current(unit: "Unit", waiting: SecondApproval, principal: Principal) -> bool:
    """Whether what somebody approved is still what would take effect, as far as a caller may know."""
    skill, _ = _named(unit, waiting)
    if skill is not None and not knows(unit, skill, principal):
        return False
    return waiting.fingerprint == mark_of(waiting, MADE[waiting.subject](unit, waiting))


def current_page(
    unit: "Unit", principal: Principal, request: PageRequest, *, now_ms: int
) -> Page[SecondApproval]:
    """Changes that wait, oldest first, without those whose subject is another one now, or hidden."""
    page = unit.second_approvals.page(request, now_ms=now_ms)
    return replace(page, items=tuple(it for it in page.items if is_current(unit, it, principal)))


def current_count(unit: "Unit", principal: Principal, *, now_ms: int) -> int:
    """How many changes wait that a caller may know of."""
    request, count = PageRequest(limit=MAX_LIMIT), 0
    while True:
        page = unit.second_approvals.page(request, now_ms=now_ms)
        count += sum(is_current(unit, it, principal) for it in page.items)
        if page.next_cursor is None:
            return count
        request = replace(request, after=decode_cursor(page.next_cursor))


def _writes(act: Callable[[], object]) -> bool:
    """Whether an act would write, by a rehearsal; raises the errors of the act."""
    try:
        with rehearsal():
            act()
    except Rehearsed:
        return True
    return False


def _lock(unit: "Unit", change: GatedChange) -> None:
    """Let nobody write what a change is about before the unit ends; slugs before rows."""
    skill, rollout = _named(unit, change)
    if skill is not None:
        unit.skills.lock(skill.slug)
    if rollout is not None:
        unit.skills.lock(rollout.skill_name)
        unit.rollouts.get(rollout.skill_name, lock=True)


def _named(unit: "Unit", change: Asked) -> tuple[Skill | None, Rollout | None]:
    """The skill and the rollout that a change is about."""
    body = change.body if isinstance(change.body, dict) else {}
    ref = str(change.values.get("skill_id", ""))
    name = change.values.get("skill_name") or body.get("skill_name")
    skill = unit.skills.get(ref) or unit.skills.by_slug(ref)
    return skill, unit.rollouts.get(str(name)) if name else None


def _of_skill(unit: "Unit", change: Asked) -> Iterator[Made]:
    skill, rollout = _named(unit, change)
    if rollout is not None:
        yield from _of_rollout(unit, rollout)
    if skill is None:
        return
    body = change.body if isinstance(change.body, dict) else {}
    given = change.values.get("version") or body.get("version")
    served = unit.skills.version(skill.skill_id, int(given or skill.version))
    if served is not None:
        yield Made(by=served.actor, digest=served.digest)
        yield from _writers(unit, skill.skill_id, served)


def _writers(unit: "Unit", skill_id: str, version: SkillVersion) -> Iterator[Made]:
    """Who wrote the versions that one came of, back to the last one that people accepted."""
    # Who restores a version did not write it: it came of those before the one that was restored.
    while origin := version.restored_from or version.number - 1:
        before = unit.skills.version(skill_id, origin) if origin < version.number else None
        if before is None:
            return
        version = before
        if version.state is VersionState.SERVED and version.decided_by:
            return
        if version.state is not VersionState.REJECTED:
            yield Made(by=version.actor)


def _of_rollout(unit: "Unit", rollout: Rollout) -> Iterator[Made]:
    """Who wrote the definition that a rollout has now, or one that was not activated before it."""
    yield Made(by=rollout.promoted_by, digest=rollout.fingerprint)
    name = rollout.skill_name
    for event in reversed(unit.rollouts.recent_events([name], limit=MOST_EVENTS.limit)[name]):
        if event.to_status is Stage.ACTIVE and event.definition_fingerprint != rollout.fingerprint:
            return
        if event.event is RolloutEventName.PROMOTE and event.to_status is Stage.DRAFT:
            yield Made(by=event.actor)


def _of_policy(unit: "Unit", change: Asked) -> Iterator[Made]:
    # Who proposes a policy is known by what waits. What a rollback goes back to depends on where it is.
    if change.operation.endswith(".rollback"):
        yield Made(digest=str(current_revision(unit).revision))


def _of_candidates(unit: "Unit", change: Asked) -> Iterator[Made]:
    body = change.body if isinstance(change.body, dict) else {}
    named = (it.get("candidate_id", "") for it in body.get("candidates") or ())
    chosen = (*(body.get("candidate_ids") or ()), *named)
    for actor in unit.audit.actors("learning_candidates.create", chosen):
        yield Made(by=actor)


MADE: Final[Mapping[TwoApprovers, Callable[["Unit", Asked], Iterable[Made]]]] = {
    TwoApprovers.SKILL_ACTIVATION: _of_skill,
    TwoApprovers.POLICY_CHANGE: _of_policy,
    TwoApprovers.BULK_PUBLICATION: _of_candidates,
}
