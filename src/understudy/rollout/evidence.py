"""Evidence of a run about a skill: whether it succeeded, and whether it executed the skill."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.learnings.model import Verification
from understudy.rollout.model import EvidenceKind, Proof, Rollout
from understudy.runs.model import Run, RunStatus
from understudy.sessions.journal import own_text
from understudy.sessions.model import spawns_of

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


# A run that was cancelled or is not over is no evidence about a skill.
SPEAKING: Final = frozenset({RunStatus.COMPLETED, RunStatus.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSuccess:
    """Whether a run succeeded, and why not."""

    success: bool
    why: str = ""


def success_of(unit: "Unit", run: Run, marker: str) -> RunSuccess:
    """Success is a completed run whose last output contains the marker, or anything without one."""
    if run.status is not RunStatus.COMPLETED:
        return RunSuccess(success=False, why=f"run {run.run_id} is {run.status}, not completed")
    said = last_output(unit, run.run_id)
    if not said:
        return RunSuccess(success=False, why=f"run {run.run_id} put out nothing")
    if marker not in said:
        return RunSuccess(
            success=False, why=f"the last output of run {run.run_id} lacks the marker"
        )
    return RunSuccess(success=True)


def last_output(unit: "Unit", run_id: str) -> str:
    """The last output of a run that is not blank."""
    outputs = unit.journal.outputs([run_id]).get(run_id, ())
    said = (event for event in reversed(outputs) if isinstance(event.data.get("text"), str))
    texts = map(own_text, said)
    return next((text for text in texts if text.strip()), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceClaim:
    """The claim of a caller about a run."""

    kind: EvidenceKind
    marker: str
    # Whether the named run succeeded.
    success: bool


def proof_of(unit: "Unit", run: Run, rollout: Rollout, claim: EvidenceClaim) -> Proof:
    """Executed where the runs that executed the definition in this attempt show the claim themselves.

    The output of the run that started them proves nothing: it can say anything.
    """
    carriers = [
        it for it in _executing_runs(unit, run, rollout) if _counts(it, rollout, claim.kind)
    ]
    successes = {success_of(unit, it, claim.marker).success for it in carriers}
    # One failed execution proves a failure, and disproves a success.
    is_executed = successes == {True} if claim.success else False in successes
    return Proof.EXECUTED if is_executed else Proof.ATTESTED


def same_execution(unit: "Unit", run: Run, rollout: Rollout) -> Iterator[str]:
    """The run and the runs of the same execution: the executing sidechains, or the run they work for."""
    yield run.run_id
    asking = _parent_run_id(unit, run, rollout)
    if asking is not None:
        yield asking
    elif run.skill_fingerprint != rollout.fingerprint:
        yield from (each.run_id for each in executions_for(unit, run.run_id, rollout.fingerprint))


def sibling_executions(unit: "Unit", run: Run, rollout: Rollout) -> Iterator[str]:
    """The other sidechains that executed the definition for the same run; together they are one success.

    A failure of one of them counts by itself, whatever the others showed.
    """
    asking = _parent_run_id(unit, run, rollout)
    if asking is not None:
        yield from (each.run_id for each in executions_for(unit, asking, rollout.fingerprint))


def _parent_run_id(unit: "Unit", run: Run, rollout: Rollout) -> str | None:
    """The run that had this one execute the definition as a sidechain; None without one."""
    if run.skill_fingerprint != rollout.fingerprint:
        return None
    spawn = unit.sidechains.spawn_of(run.session_id)
    return spawn.run_id if spawn is not None and spawn.first_run_id == run.run_id else None


def _executing_runs(unit: "Unit", run: Run, rollout: Rollout) -> Iterator[Run]:
    """The runs that executed exactly this definition: the run itself, or its own sidechains."""
    if run.skill_fingerprint == rollout.fingerprint:
        return iter((run,))
    return executions_for(unit, run.run_id, rollout.fingerprint)


def executions_for(unit: "Unit", run_id: str, fingerprint: str) -> Iterator[Run]:
    """The sidechain runs that executed a definition for a run."""
    spawns = spawns_of(unit, run_id)
    runs = filter(None, (unit.runs.get(spawn.first_run_id) for spawn in spawns))
    return (each for each in runs if each.skill_fingerprint == fingerprint)


def _counts(run: Run, rollout: Rollout, kind: EvidenceKind) -> bool:
    """Whether a run has ended, and was submitted in this attempt, for a canary in this stage."""
    is_canary = kind is EvidenceKind.CANARY
    since = rollout.stage_began_at_ms if is_canary else rollout.attempt_began_at_ms
    return run.status in SPEAKING and run.submitted_at_ms >= since


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The counts of evidence for one definition."""

    successful_run_count: int = 0
    distinct_session_count: int = 0
    # How many of all runs executed the definition.
    executed_run_count: int = 0
    canary_success_count: int = 0
    canary_failure_count: int = 0

    @property
    def verification_status(self) -> Verification:
        """Verified as soon as one run verified the definition."""
        return Verification.VERIFIED if self.successful_run_count else Verification.UNVERIFIED

    @property
    def real_daemon_verified(self) -> bool:
        """The same as a boolean: only runs of this daemon are accepted."""
        return bool(self.successful_run_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSums:
    """The counts of all runs of an attempt, and of those that executed the definition."""

    every: Counts = Counts()
    executed: Counts = Counts()

    def under(self, *, executed_only: bool) -> Counts:
        """The counts that a policy uses: of executed evidence only, or of attested too."""
        if not executed_only:
            return self.every
        # A failure counts even if it is only attested.
        return replace(self.executed, canary_failure_count=self.every.canary_failure_count)


NOTHING: Final = EvidenceSums()


def sums_of_one(unit: "Unit", rollout: Rollout) -> EvidenceSums:
    """The sums of all evidence for the current definition of a rollout."""
    return unit.rollouts.sums_of([rollout])[rollout.skill_name]
