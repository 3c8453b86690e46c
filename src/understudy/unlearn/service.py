"""Unlearning: preview, start, get, verify; and the steps of its durable job."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import Conflict, Invalid, NotFound, UnderstudyError, coded_error
from understudy.core.ids import new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal, Role
from understudy.learnings.guard import SecretGuard
from understudy.memory.retention import Keeper
from understudy.tools.base import in_thread
from understudy.unlearn.model import (
    MAX_TEXT,
    MIN_TEXT,
    BlastItem,
    BlastRadius,
    Resource,
    TargetKind,
    Unlearn,
    UnlearnMode,
    UnlearnReceipt,
    UnlearnStatus,
    UnlearnStep,
    UnlearnTarget,
    UnlearnVerification,
    UnlearnWork,
    blast_radius,
)
from understudy.unlearn.receipts import digest_of, key_of, receipt_of, verify
from understudy.unlearn.retirement import Retirer
from understudy.unlearn.texts import parts_of
from understudy.work.queue_worker import LEASE_MS, Job, while_held

if TYPE_CHECKING:
    from understudy.storage.job_queue import JobQueue
    from understudy.storage.unit import Unit, Units

TOPIC: Final = "unlearns"
WAITS_MS: Final = (500, 2_000, 8_000, 30_000)
MOST_NAMED: Final = 5
# The most rounds of searching for records that quote a text, including quotes of quotes.
MOST_ROUNDS: Final = 5
UNFINISHED: Final = frozenset({UnlearnStatus.PENDING, UnlearnStatus.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnService:
    """Operations for admins: the blast radius of a target, and its unlearning."""

    units: "Units"
    clock: Clock
    guard: SecretGuard
    # Wakes the worker after a commit that queued a job.
    wake: Callable[[], None]

    def preview(self, target: UnlearnTarget) -> BlastRadius:
        """The blast radius of a target, or `NotFound`."""
        checked = check_target(target)
        with self.units.read() as unit:
            return _require(radius_of(unit, checked), checked)

    def start(
        self, principal: Principal, target: UnlearnTarget, mode: UnlearnMode, reason: str | None
    ) -> Unlearn:
        """Queue an unlearning; returns an unfinished one of the same target and mode."""
        checked, given = check_target(target), self.guard.checked_reason(reason)
        now = self.clock.now_ms()
        with self.units.write() as unit:
            same = unit.unlearns.under_way(checked, mode)
            if same is not None:
                return same
            radius = _require(radius_of(unit, checked), checked)
            _require_ended(unit, radius)
            unlearn = Unlearn(
                unlearn_id=new_id("uln"),
                target=checked,
                mode=mode,
                status=UnlearnStatus.PENDING,
                step=UnlearnStep.COLLECT,
                actor=principal.user_id,
                created_at_ms=now,
                updated_at_ms=now,
                reason=given,
            )
            unit.unlearns.add(unlearn)
            unit.unlearn_queue.put([unlearn.unlearn_id], due_at_ms=now)
            unit.audit.add(
                audit.done(principal, "unlearn.start", unlearn.unlearn_id, at_ms=now, reason=mode)
            )
            unit.after_commit(self.wake)
            return unlearn

    def get(self, unlearn_id: str) -> Unlearn:
        """One unlearning, or `NotFound`."""
        with self.units.read() as unit:
            return require_unlearn(unit, unlearn_id)

    def page(self, request: PageRequest) -> Page[Unlearn]:
        """Unlearnings, newest first."""
        with self.units.read() as unit:
            return unit.unlearns.page(request)

    def verify(self, receipt: UnlearnReceipt, *, text: str | None = None) -> UnlearnVerification:
        """Whether the stores still contain a receipt's items, or a text that the caller knows."""
        if text is not None:
            check_text(text, pointer="/text")
        with self.units.read() as unit:
            return verify(unit, receipt, text=text)


def require_unlearn(unit: "Unit", unlearn_id: str) -> Unlearn:
    """The unlearning, or `NotFound`."""
    found = unit.unlearns.get(unlearn_id)
    if found is None:
        raise coded_error("unlearn/unlearn_not_found", unlearn_id=unlearn_id)
    return found


def check_target(target: UnlearnTarget) -> UnlearnTarget:
    """Validate a target; a text that would match everything is refused."""
    if target.kind is TargetKind.USER_TEXT:
        check_text(target.id, pointer="/target/id")
    elif target.kind is TargetKind.SKILL_VERSION and not target.id.rpartition("@")[2].isdecimal():
        raise coded_error("unlearn/invalid_version", pointer="/target/id", id=target.id)
    return target


def check_text(text: str, *, pointer: str) -> None:
    """Refuse a text that is a keyword of our records, or has the wrong length."""
    is_name = text.isascii() and text.replace("_", "").isalpha() and text.islower()
    if not MIN_TEXT <= len(text.strip()) <= MAX_TEXT or is_name:
        raise coded_error("unlearn/invalid_text", pointer=pointer, least=MIN_TEXT, most=MAX_TEXT)


def radius_of(unit: "Unit", target: UnlearnTarget) -> BlastRadius:
    """The records derived from a target, and those of later runs that quote it verbatim."""
    radius = unit.unlearns.radius(target)
    for _ in range(MOST_ROUNDS):
        quoting = unit.unlearns.quoting(radius, parts_of(unit.unlearns.texts(radius)))
        if not quoting:
            break
        radius = unit.unlearns.widened(radius, quoting)
    return radius


def _require(radius: BlastRadius, target: UnlearnTarget) -> BlastRadius:
    if not radius.items and target.kind is not TargetKind.USER_TEXT:
        raise coded_error("unlearn/target_not_found", kind=target.kind, id=target.id)
    return radius


def _require_ended(unit: "Unit", radius: BlastRadius) -> None:
    going = unit.erasure.unfinished(radius.ids(Resource.RUN))
    if going:
        named = ", ".join(going[:MOST_NAMED])
        raise coded_error("unlearn/runs_unfinished", runs=named, count=len(going))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlearnDuty:
    """Executes the steps of unlearnings; each is one transaction, or idempotent."""

    units: "Units"
    clock: Clock
    retirer: Retirer
    keeper: Keeper
    # Deletes the engine's workflow records.
    forget_work: Callable[[Sequence[str]], None]
    # Removes deleted rows from free pages and logs of the database.
    compact: Callable[[], None]

    name: ClassVar[str] = "unlearn"
    id_name: ClassVar[str] = "unlearn_id"
    topic: ClassVar[str] = TOPIC
    waits_ms: ClassVar[Sequence[int]] = WAITS_MS

    def queue(self, unit: "Unit") -> "JobQueue":
        """The queue of unlearnings."""
        return unit.unlearn_queue

    def is_on(self, _: "Unit") -> bool:
        """Always on."""
        return True

    def startup(self) -> int:
        """Nothing to queue: a job stays in the queue until its unlearning has ended."""
        return 0

    async def do(self, job: Job) -> None:
        """Execute the remaining steps in order, under the job's lease."""
        await while_held(in_thread(self.work, job.job_id), partial(self._extend, job))
        await in_thread(self._finish, job)

    def work(self, unlearn_id: str, *, most: int = len(UnlearnStep)) -> Unlearn:
        """Execute up to so many steps; returns the unlearning."""
        for _ in range(most):
            with self.units.read() as unit:
                unlearn = require_unlearn(unit, unlearn_id)
            if unlearn.step is UnlearnStep.END or unlearn.status is UnlearnStatus.FAILED:
                break
            STEP[unlearn.step](self, unlearn)
        with self.units.read() as unit:
            return require_unlearn(unit, unlearn_id)

    def is_hopeless(self, unit: "Unit", job: Job, problem: Exception) -> bool:
        """Only if it is refused before any change; otherwise it is retried until it succeeds."""
        unlearn = unit.unlearns.get(job.job_id)
        is_new = unlearn is None or unlearn.step is UnlearnStep.COLLECT
        return is_new and isinstance(problem, Invalid | NotFound | Conflict)

    def give_up(self, unit: "Unit", job: Job, problem: Exception) -> None:
        """Mark the unlearning as failed."""
        unit.unlearn_queue.done(job)
        unlearn = unit.unlearns.get(job.job_id)
        if unlearn is not None:
            code = problem.code if isinstance(problem, UnderstudyError) else type(problem).__name__
            failed = replace(
                unlearn,
                status=UnlearnStatus.FAILED,
                error=code,
                work=None,
                updated_at_ms=self.clock.now_ms(),
            )
            unit.unlearns.update(failed)

    def _extend(self, job: Job) -> bool:
        with self.units.write() as unit:
            return unit.unlearn_queue.extend(job, until_ms=self.clock.now_ms() + LEASE_MS)

    def _finish(self, job: Job) -> None:
        with self.units.write() as unit:
            unit.unlearn_queue.done(job)

    # The steps.

    def collect(self, unlearn: Unlearn) -> None:
        """Store the blast radius."""
        with self.units.write() as unit:
            radius = radius_of(unit, unlearn.target)
            _require_ended(unit, radius)
            self._advance(unit, unlearn, UnlearnWork(items=radius.items))

    def retire(self, unlearn: Unlearn) -> None:
        """Revoke everything in the blast radius."""
        by = Principal(user_id=unlearn.actor, role=Role.ADMIN)
        self.retirer.retire(by, unlearn, _radius(unlearn))
        with self.units.write() as unit:
            self._advance(unit, unlearn, unlearn.work)

    def withdraw(self, unlearn: Unlearn) -> None:
        """Keep the runs out of later prompts, and delete their run memories."""
        radius = _radius(unlearn)
        if unlearn.mode is UnlearnMode.REVOKE:
            # Runs that contain the text are revoked as a whole.
            holding = [it.id for it in radius.items if it.relation == "holds the text"]
            radius = blast_radius(
                [
                    *radius.items,
                    *(_run(it) for it in holding if it in radius.ids(Resource.LATER_RUN)),
                ]
            )
        with self.units.write() as unit:
            marked = unit.unlearns.withdraw(unlearn.unlearn_id, radius)
            self.keeper.forget(unit, radius.ids(Resource.RUN))
            work = replace(_work(unlearn), tombstones=marked)
            self._advance(unit, unlearn, work)

    def read(self, unlearn: Unlearn) -> None:
        """Add what was derived meanwhile, and the texts to search for."""
        with self.units.write() as unit:
            radius = _joined(_radius(unlearn), radius_of(unit, unlearn.target))
            texts = parts_of(unit.unlearns.texts(radius))
            if unlearn.target.kind is TargetKind.USER_TEXT:
                texts = (unlearn.target.id,)
            self._advance(unit, unlearn, replace(_work(unlearn), items=radius.items, texts=texts))

    def erase(self, unlearn: Unlearn) -> None:
        """Delete rows and files, and the engine's records."""
        radius = _radius(unlearn)
        with self.units.read() as unit:
            work_ids = unit.unlearns.work_ids(radius.ids(Resource.RUN))
        if work_ids:
            self.forget_work(work_ids)
        with self.units.write() as unit:
            self.keeper.forget(unit, radius.ids(Resource.RUN))
            left = unit.unlearns.erase(unlearn.unlearn_id, radius, now_ms=self.clock.now_ms())
            self._advance(unit, unlearn, replace(_work(unlearn), tombstones=left))

    def scrub(self, unlearn: Unlearn) -> None:
        """Cut copies of the texts out of remaining records, once the runs with them have ended."""
        later, texts = _radius(unlearn).ids(Resource.LATER_RUN), _work(unlearn).texts
        now = self.clock.now_ms()
        with self.units.write() as unit:
            going = unit.erasure.unfinished(later)
            if going:
                raise coded_error("unlearn/later_runs_unfinished", count=len(going))
            # First: where memories are rows, a scrubbed one no longer shows what it shortened.
            self.keeper.forget(unit, unit.unlearns.memories_with(later, texts))
            scrubbed = unit.unlearns.scrub_runs(later, texts, now_ms=now) if later else 0
            if unlearn.target.kind is TargetKind.USER_TEXT:
                scrubbed += unit.unlearns.scrub_everywhere(unlearn.target.id, now_ms=now)
            self._advance(unit, unlearn, replace(_work(unlearn), scrubbed=scrubbed))

    def sign(self, unlearn: Unlearn) -> None:
        """Write the receipt, and drop everything with content."""
        now = self.clock.now_ms()
        with self.units.write() as unit:
            key = key_of(unit, now_ms=now)
            receipt = receipt_of(unlearn, _radius(unlearn), key, now_ms=now)
            target = unlearn.target
            if target.kind is TargetKind.USER_TEXT:
                target = replace(target, id=digest_of(key, target.kind, target.id))
            self._advance(unit, replace(unlearn, receipt=receipt, target=target), None)

    def clean(self, unlearn: Unlearn) -> None:
        """Remove deleted content from free pages and logs of the database."""
        self.compact()
        with self.units.write() as unit:
            self._advance(unit, unlearn, None)

    def _advance(self, unit: "Unit", unlearn: Unlearn, work: UnlearnWork | None) -> None:
        step = unlearn.next_step
        is_done = step is UnlearnStep.END
        now = self.clock.now_ms()
        unit.unlearns.update(
            replace(
                unlearn,
                step=step,
                status=UnlearnStatus.DONE if is_done else UnlearnStatus.RUNNING,
                error=None,
                work=work,
                updated_at_ms=now,
            )
        )
        if is_done:
            by = Principal(user_id=unlearn.actor, role=Role.ADMIN)
            unit.audit.add(
                audit.done(by, "unlearn.done", unlearn.unlearn_id, at_ms=now, reason=unlearn.mode)
            )


STEP: Final[dict[UnlearnStep, Callable[[UnlearnDuty, Unlearn], None]]] = {
    UnlearnStep.COLLECT: UnlearnDuty.collect,
    UnlearnStep.RETIRE: UnlearnDuty.retire,
    UnlearnStep.WITHDRAW: UnlearnDuty.withdraw,
    UnlearnStep.READ: UnlearnDuty.read,
    UnlearnStep.ERASE: UnlearnDuty.erase,
    UnlearnStep.SCRUB: UnlearnDuty.scrub,
    UnlearnStep.SIGN: UnlearnDuty.sign,
    UnlearnStep.COMPACT: UnlearnDuty.clean,
}


def _work(unlearn: Unlearn) -> UnlearnWork:
    return unlearn.work or UnlearnWork()


def _radius(unlearn: Unlearn) -> BlastRadius:
    return blast_radius(_work(unlearn).items)


def _run(run_id: str) -> BlastItem:
    return BlastItem(resource=Resource.RUN, id=run_id, relation="holds the text")


def _joined(first: BlastRadius, second: BlastRadius) -> BlastRadius:
    """The union of both; an erased run does not count as a later run."""
    items = {(it.resource, it.id): it for it in (*second.items, *first.items)}
    erased = {id_ for resource, id_ in items if resource is Resource.RUN}
    return blast_radius(
        it for it in items.values() if it.resource is not Resource.LATER_RUN or it.id not in erased
    )
