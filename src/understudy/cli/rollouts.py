"""`understudy rollouts`: procedures that become skills, their stages and history."""

import shlex
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import PageOptions
from understudy.cli.output import STEP_HINTS, note, understudy
from understudy.cli.screen import visible
from understudy.cli.table import Verb, declare
from understudy.core.text import short_digest

if TYPE_CHECKING:
    from understudy.rollout.model import EvidenceRecord, LifecycleEvent
    from understudy.rollout.outcome import SuccessTally
    from understudy.rollout.service import RolloutDiff
    from understudy.skills.runtime_settings import RuntimeSettings
    from understudy.wire.rollouts import RolloutState, RolloutSummary, RolloutView, TrialView

STAGES: Final = "`draft`, `verified`, `canary`, `active` or `revoked`"
# What promoting leads to; taking back is a command of its own.
TARGETS: Final = "`draft`, `verified`, `canary` or `active`"
KINDS: Final = "`verification` or `canary`"

SkillName: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="The promoted skill's name.")
]
Reason: TypeAlias = Annotated[str | None, typer.Option(help="Why; for whoever looks later.")]
Expected: TypeAlias = Annotated[
    str,
    typer.Option("--expect", metavar="TEXT", help="What the last output has to contain."),
]
OfFingerprint: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--fingerprint",
        metavar="HEX",
        help="Refuse unless this is the fingerprint of the definition.",
    ),
]

commands = Commands("Rollouts: procedures that become skills, stage by stage.")


def _stage(view: "RolloutSummary") -> str:
    if view.is_demoted:
        return f"{view.status} (demoted)"
    return f"{view.status} (held)" if view.held_reason is not None else view.status


COLUMNS: Final[screen.Layout] = {
    "skill": "skill_name",
    "stage": _stage,
    "verified": "successful_run_count",
    "canary": lambda each: (
        f"{each.canary_success_count}/{each.canary_success_count + each.canary_failure_count}"
    ),
    "fingerprint": lambda each: short_digest(each.definition_fingerprint),
    "changed": "updated_at_ms",
    "description": lambda each: visible(each.description),
}


def _step(event: "LifecycleEvent") -> str:
    if event.from_status in (None, event.to_status):
        return event.to_status
    return f"{event.from_status} → {event.to_status}"


EVENT_COLUMNS: Final[screen.Layout] = {
    "when": "recorded_at_ms",
    "event": "event",
    "stage": _step,
    "by": "actor",
    "run": "run_id",
    "about": lambda each: visible(each.reason or "") or _outcome(each),
}
HISTORY_COLUMNS: Final[screen.Layout] = {
    "revision": "number",
    "until": "recorded_at_ms",
    "stage": "status",
    "fingerprint": lambda each: short_digest(each.definition_fingerprint),
    "learning": "source_learning_id",
    "description": lambda each: visible(each.description),
}
TRIAL_COLUMNS: Final[screen.Layout] = {
    "trial": "trial_id",
    "kind": lambda each: "replay" if each.cases else each.kind,
    "state": "state",
    "fingerprint": lambda each: short_digest(each.definition_fingerprint),
    "run": "run_id",
    "started": "created_at_ms",
    "why": lambda each: visible(each.reason or ""),
}
HELD: Final = "held: "
MOST_EVIDENCE: Final = 20


def pairs(view: "RolloutView") -> list[tuple[str, object]]:
    """Everything about a rollout but what it tells an agent to do."""
    return [
        ("skill", view.skill_name),
        ("stage", _stage(view)),
        ("held because", visible(view.held_reason or "")),
        ("untrusted", untrusted_words(view)),
        ("next", next_words(view)),
        ("description", visible(view.description)),
        ("when to use", visible(view.when_to_use or "")),
        ("version", visible(view.version or "")),
        ("learning", view.source_learning_id),
        ("runs with", _runtime(view.runtime)),
        ("warnings", [visible(each.message) for each in view.warnings]),
        ("fingerprint", view.definition_fingerprint),
        ("verified", _verified(view)),
        ("canary", f"{view.canary_success_count} succeeded, {view.canary_failure_count} failed"),
        ("carried out by", _executed(view)),
        ("offered to", f"{view.uses.offered_percent} % of sessions"),
        ("uses in force", _uses(view)),
        ("evidence", _evidence_lines(view)),
        ("promoted", f"{screen.ago(view.promoted_at_ms)} by {view.promoted_by}"),
        ("changed", f"{screen.ago(view.updated_at_ms)}, revision {view.revision}"),
        ("revoked", screen.ago(view.revoked_at_ms) if view.revoked_at_ms else None),
        ("reason", visible(view.revoked_reason or "")),
        ("files", view.skill_path if view.status == "active" else None),
    ]


def untrusted_words(view: "RolloutState | TrialView") -> str | None:
    """Whose text it may repeat, until somebody has activated it."""
    if not view.derived_from_untrusted:
        return None
    told = "it may repeat what tools, files or strangers wrote"
    return f"{told} ({', '.join(view.untrusted_path)})" if view.untrusted_path else told


def next_words(view: "RolloutView") -> str | None:
    """Where it goes next, and what is missing for it."""
    if view.next is None:
        return None
    if not view.next.missing:
        return f"{view.next.status}: nothing is missing"
    return f"{view.next.status}: " + "; ".join(each.detail for each in view.next.missing)


def tell(view: "RolloutView") -> None:
    """Say in short where a rollout stands after a change."""
    note(
        f"{view.skill_name} is {_stage(view)}, fingerprint {short_digest(view.definition_fingerprint)}"
    )
    if view.held_reason is not None:
        note(f"  {HELD}{visible(view.held_reason)}")
    elif view.next is not None:
        note(f"  next is {next_words(view)}")
    if (untrusted := untrusted_words(view)) is not None:
        note(f"  warning: {untrusted}")
    for each in view.warnings:
        note(f"  warning: {visible(each.message)}")


def tell_released(view: "RolloutView") -> None:
    """As `tell`; what failed as a canary goes on only from draft, so the way there is named."""
    tell(view)
    lacking = () if view.next is None else (it.code for it in view.next.missing)
    if "canary_failed" in lacking:
        hint = STEP_HINTS["canary_failed"]
        note(f"  {hint.format(understudy=understudy(), skill=shlex.quote(view.skill_name))}")


def _outcome(event: "LifecycleEvent") -> str | None:
    if event.rollout_kind is None:
        return None
    return f"{event.rollout_kind} {'succeeded' if event.success else 'failed'}"


def trial_pairs(view: "TrialView") -> list[tuple[str, object]]:
    """Everything about a trial."""
    return [
        ("trial", view.trial_id),
        ("skill", view.skill_name),
        ("kind", "replay" if view.cases else view.kind),
        ("state", view.state),
        ("untrusted", untrusted_words(view)),
        ("why", visible(view.reason or "")),
        ("expected", visible(view.expected_output_contains or "")),
        ("fingerprint", view.definition_fingerprint),
        ("run", view.run_id),
        ("session", view.session_id),
        ("started", f"{screen.ago(view.created_at_ms)} by {view.actor}"),
        ("took", screen.lasted(view.created_at_ms, view.ended_at_ms) if view.ended_at_ms else None),
        ("cases", len(view.cases) or None),
    ]


def _verified(view: "RolloutSummary") -> str:
    runs = screen.count(view.successful_run_count, "run")
    return f"{runs} in {screen.count(view.distinct_session_count, 'session')}"


def _executed(view: "RolloutSummary") -> str | None:
    """How many of all runs that speak of it, in the canary or before, really used it."""
    canary = view.canary_success_count + view.canary_failure_count
    every = view.successful_run_count + canary
    return f"{view.executed_run_count} of {screen.count(every, 'run')}" if every else None


def _uses(view: "RolloutView") -> str | None:
    counts = view.uses.active
    if not counts.succeeded + counts.failed + counts.abandoned:
        return None
    ended = f"{counts.succeeded} succeeded, {counts.failed} failed, {counts.abandoned} abandoned"
    return f"{ended}; lately {_rate(view.uses.recent)}, baseline {_rate(view.uses.baseline)}"


def _rate(tally: "SuccessTally") -> str:
    return f"{tally.successes} of {tally.tries}"


def _evidence_lines(view: "RolloutView") -> list[str]:
    """The newest runs, oldest first, and how many there are before them."""
    total = view.successful_run_count + view.canary_success_count + view.canary_failure_count
    newest = [_evidence(each) for each in view.evidence_refs[-MOST_EVIDENCE:]]
    earlier = total - len(newest)
    return [f"{screen.count(earlier, 'earlier run')}, then", *newest] if earlier > 0 else newest


def _evidence(each: "EvidenceRecord") -> str:
    how = "succeeded" if each.success else "failed"
    return f"{each.run_id} ({each.kind} {how}, {each.proof})"


def _runtime(runtime: "RuntimeSettings") -> str:
    said = {
        "profile": runtime.agent_profile,
        "allowed": " ".join(runtime.allowed_tools),
        "blocked": " ".join(runtime.blocked_tools),
        "provider": runtime.provider,
        "model": runtime.model,
        "fallback": runtime.fallback_model,
    }
    parts = (f"{name} {visible(value)}" for name, value in said.items() if value)
    return ", ".join([runtime.context, *parts])


def _show(view: "RolloutView") -> None:
    screen.fields(pairs(view))
    print()
    print(screen.printable(screen.visible(view.instructions)))


def show_diff(view: "RolloutDiff") -> None:
    """Print a diff as a patch, or say that there is none."""
    if not view.files:
        both = f"revisions {view.from_number} and {view.to_number} say"
        note(
            "it has always said this" if view.from_number == view.to_number else f"{both} the same"
        )
        return
    screen.document("".join(f"{each.diff}\n" for each in view.files if each.diff is not None))
    if any(each.cut for each in view.files):
        note("not everything is shown: there is too much of it")


@commands("show", "get", show=_show)
def show(daemon: DaemonConnection, name: SkillName) -> object:
    """Show where a promoted skill stands, what speaks for it, and what the next stage asks for."""
    return daemon.client.rollouts.get(name)


@commands("events", show=EVENT_COLUMNS, empty="Nothing happened yet.")
def events(daemon: DaemonConnection, page: PageOptions, name: SkillName) -> object:
    """List everything that happened to a promoted skill, oldest first."""
    return daemon.client.rollouts.events_page(name, **page)


@commands("history", show=HISTORY_COLUMNS, empty="It has not changed yet.")
def history(daemon: DaemonConnection, page: PageOptions, name: SkillName) -> object:
    """List how a promoted skill was before each of its changes, newest first."""
    return daemon.client.rollouts.history_page(name, **page)


@commands("diff", show=show_diff)
def diff(
    daemon: DaemonConnection,
    name: SkillName,
    old: Annotated[
        int | None,
        typer.Argument(
            metavar="[FROM]",
            min=1,
            help="The older revision; by default the newest one with another definition.",
        ),
    ] = None,
    new: Annotated[
        int | None,
        typer.Argument(
            metavar="[TO]", min=1, help="The newer revision; by default the current one."
        ),
    ] = None,
) -> object:
    """Print what changed between two revisions, as a patch of the skill's files."""
    return daemon.client.rollouts.diff(name, old, new)


declare(
    commands,
    Verb(
        names="list",
        call="rollouts.page",
        show=COLUMNS,
        empty="No procedure was promoted.",
        options={"source_learning_id": "learning"},
    ),
)
