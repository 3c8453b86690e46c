"""Changes that two people approve: whose word counts, what waits, and who makes it in the end."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.core.rehearsal import Rehearsed, rehearsal
from understudy.rollout.model import RolloutEventName, Stage
from understudy.runs.submission import fingerprint
from understudy.runtime.service import current_revision
from understudy.runtime.two_people import (
    KEPT_MS,
    SecondApproval,
    TwoApprovers,
    person_of,
    required,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Events of a rollout that may be read to find out who wrote its definition.
MOST_EVENTS: Final = PageRequest(limit=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Content that is to take effect: who wrote it, whose word is not asked for, and its digest."""

    by: str
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedChange:
    """A change that may need two people, as somebody asks for it."""

    units: "Units"
    clock: Clock
    principal: Principal
    subject: TwoApprovers
    operation: str
    values: dict[str, Any]
    body: Any = None
    # The ids of the candidates that it is about, also where a filter names them.
    candidate_ids: tuple[str, ...] = field(default=())

    def needs_two(self) -> bool:
        """Whether the settings ask for two people."""
        with self.units.read() as unit:
            return self.subject in required(current_revision(unit).document)

    def carry_out(self, act: Callable[[], object]) -> SecondApproval | None:
        """Make the change if the caller's word is enough for that; else answers what waits."""
        if not self.needs_two() or not _writes(act):
            act()
            return None
        waiting, is_second = self.approve()
        if not is_second:
            return waiting
        try:
            act()
        except Exception:
            self.put_back(waiting)
            raise
        return None

    def approve(self) -> tuple[SecondApproval, bool]:
        """Note who approves it; answers what waits, and whether it is to be made now."""
        now, person = self.clock.now_ms(), person_of(self.principal)
        with self.units.write() as unit:
            made = frozenset(MADE[self.subject](unit, self))
            # `ada as bob` is Ada.
            if person in {each.by.partition(" as ")[0] for each in made}:
                raise coded_error("two_approvers/proposer_does_not_count", user_id=person)
            unit.second_approvals.sweep(now_ms=now)
            mark = self._mark(made)
            waiting = unit.second_approvals.same(mark, now_ms=now)
            if waiting is None:
                waiting = self._begin(person, now, mark)
                unit.second_approvals.put(waiting)
                self._audit(unit, "second_approvals.wait", waiting, now)
                return waiting, False
            if person in (waiting.proposed_by, waiting.first_by):
                return waiting, False
            if not unit.second_approvals.take(waiting.approval_id):
                raise coded_error("two_approvers/approval_not_found", approval_id="")
            is_second = bool(waiting.first_by)
            if not is_second:
                waiting = replace(waiting, first_by=person)
                unit.second_approvals.put(waiting)
            self._audit(unit, "second_approvals.approve", waiting, now, second=person)
            return waiting, is_second

    def put_back(self, waiting: SecondApproval) -> None:
        """Let a change wait again that came to nothing."""
        with self.units.write() as unit:
            unit.second_approvals.put(waiting)

    def _begin(self, person: str, now: int, mark: str) -> SecondApproval:
        # Who brings a policy wrote it; what else is activated was there before.
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

    def _mark(self, made: Iterable[Made]) -> str:
        """The same for the same call about the same content: who approved one text approved no other."""
        content = sorted({each.digest for each in made})
        asked = {"values": self.values, "body": self.body, "about": self.candidate_ids}
        return fingerprint(self.operation, {**asked, "content": content})

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


def _writes(act: Callable[[], object]) -> bool:
    """Whether an act would store something; raises what it would raise."""
    try:
        with rehearsal():
            act()
    except Rehearsed:
        return True
    return False


def _of_skill(unit: "Unit", change: GatedChange) -> Iterator[Made]:
    body = change.body if isinstance(change.body, dict) else {}
    if name := change.values.get("skill_name") or body.get("skill_name"):
        yield from _of_rollout(unit, str(name))
    ref = str(change.values.get("skill_id", ""))
    skill = unit.skills.get(ref) or unit.skills.by_slug(ref)
    if skill is not None:
        given = change.values.get("version") or body.get("version")
        version = unit.skills.version(skill.skill_id, int(given or skill.version))
        while version is not None:
            yield Made(by=version.actor, digest=version.digest)
            # Who restores a version did not write it.
            origin = version.restored_from or 0
            is_earlier = 0 < origin < version.number
            version = unit.skills.version(skill.skill_id, origin) if is_earlier else None


def _of_rollout(unit: "Unit", skill_name: str) -> Iterator[Made]:
    """Who wrote the definition that a rollout has now."""
    rollout = unit.rollouts.get(skill_name)
    if rollout is None:
        return
    yield Made(by=rollout.promoted_by, digest=rollout.fingerprint)
    recent = unit.rollouts.recent_events([skill_name], limit=MOST_EVENTS.limit)[skill_name]
    for event in recent:
        is_written = event.event is RolloutEventName.PROMOTE and event.to_status is Stage.DRAFT
        if is_written and event.definition_fingerprint == rollout.fingerprint:
            yield Made(by=event.actor, digest=rollout.fingerprint)


def _of_candidates(unit: "Unit", change: GatedChange) -> Iterator[Made]:
    for actor in unit.audit.actors("learning_candidates.create", change.candidate_ids):
        yield Made(by=actor)


MADE: Final[Mapping[TwoApprovers, Callable[["Unit", GatedChange], Iterable[Made]]]] = {
    TwoApprovers.SKILL_ACTIVATION: _of_skill,
    # Who proposes a policy is known by what waits.
    TwoApprovers.POLICY_CHANGE: lambda _, __: (),
    TwoApprovers.BULK_PUBLICATION: _of_candidates,
}
