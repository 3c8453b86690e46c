"""Arguments and options that the commands about learning share, and what is typed as them."""

import time
from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeAlias

import typer

from understudy.cli.schedules import SECONDS, moment, span

SCOPE_KINDS: Final = ("session", "persona", "project", "workspace")
WORKSPACE_ID: Final = "default"
# What somebody may propose; the daemon makes summaries of runs as well.
PROPOSED_KINDS: Final = "`fact`, `preference`, `decision` or `procedure`"
KINDS: Final = "`fact`, `preference`, `decision`, `procedure` or `run_summary`"
STATES: Final = "`pending`, `escalated`, `published` or `rejected`"
STATUSES: Final = "`provisional`, `active`, `superseded` or `revoked`"

CandidateId: TypeAlias = Annotated[
    str, typer.Argument(metavar="CANDIDATE", help="The candidate's id.")
]
LearningId: TypeAlias = Annotated[
    str, typer.Argument(metavar="LEARNING", help="The learning's id.")
]
Content: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[TEXT]", help="What it says; `-` reads stdin.")
]
Query: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--query", "-q", help="Only those with this in id, scope, kind, content or source run."
    ),
]
InScope: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--scope",
        metavar="SCOPE",
        help="Only those of `session:ID`, `persona:ID`, `project:ID` or `workspace`.",
    ),
]
OfKind: TypeAlias = Annotated[str | None, typer.Option("--kind", help=f"Only of a kind: {KINDS}.")]
InState: TypeAlias = Annotated[
    str | None, typer.Option("--state", help=f"Only in a state: {STATES}.")
]
OfStatus: TypeAlias = Annotated[
    str | None, typer.Option("--status", help=f"Only of a status: {STATUSES}.")
]
Decision: TypeAlias = Annotated[
    str | None,
    typer.Option("--decision", help="Only those published so: `manual` or `automatic`."),
]
Actor: TypeAlias = Annotated[
    str | None, typer.Option("--actor", help="Only those published by `operator` or `daemon`.")
]
OfRule: TypeAlias = Annotated[
    str | None,
    typer.Option("--rule", metavar="NAME", help="Only from candidates that this rule matched."),
]
AnotherScope: TypeAlias = Annotated[
    str | None,
    typer.Option("--scope", metavar="SCOPE", help="Another scope, such as `project:ID`."),
]
AnotherKind: TypeAlias = Annotated[
    str | None, typer.Option("--kind", help=f"Another kind: {PROPOSED_KINDS}.")
]
Sensitivity: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sensitivity", help="`scoped`, or `sensitive`, which no prompt and no search tells of."
    ),
]
Confidence: TypeAlias = Annotated[
    int | None, typer.Option("--confidence", help="How sure it is, from 0 to 100.")
]
Expires: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--expires", metavar="WHEN", help="When it ends: in 12h or 30d, or at 2030-01-31T09:00."
    ),
]
Evidence: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        metavar="RUN[:ARTIFACT]",
        help="A run that speaks for it, or one artifact of it; repeatable.",
    ),
]
TierOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--tier", help="`active`, or `provisional`, which no prompt is told of."),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Only show what would become of each.")
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def scope_of(text: str | None) -> dict[str, str] | None:
    """`session:demo` as a scope; the workspace needs no id."""
    if text is None:
        return None
    kind, _, name = text.partition(":")
    if kind == "workspace" and not name:
        name = WORKSPACE_ID
    if kind not in SCOPE_KINDS or not name:
        raise typer.BadParameter(
            f"a scope is session:ID, persona:ID, project:ID or workspace; got {text!r}"
        )
    return {"kind": kind, "id": name}


def scope_fields(text: str | None) -> dict[str, str | None]:
    """The same as a filter names it."""
    scope = scope_of(text) or {}
    return {"scope_kind": scope.get("kind"), "scope_id": scope.get("id")}


def evidence_of(entries: Sequence[str] | None) -> list[dict[str, str]] | None:
    """`run_1:artifact_2` as references; none where none was typed."""
    if not entries:
        return None
    refs = []
    for entry in entries:
        run_id, separator, artifact_id = entry.partition(":")
        if not run_id or (separator and not artifact_id):
            raise typer.BadParameter(f"--evidence takes RUN or RUN:ARTIFACT; got {entry!r}")
        refs.append({"run_id": run_id, **({"artifact_id": artifact_id} if artifact_id else {})})
    return refs


def ending(text: str | None, now_ms: int | None = None) -> int | None:
    """When something ends: a span from now, or a time."""
    if text is None:
        return None
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    try:
        return now + 1000 * span(text) if text[-1:] in SECONDS else moment(text)
    except typer.BadParameter:
        raise typer.BadParameter(
            f"--expires takes a span like 12h or 30d, or a time like 2030-01-31T09:00; got {text!r}"
        ) from None


def overrides(
    *,
    scope: str | None = None,
    kind: str | None = None,
    sensitivity: str | None = None,
    confidence: int | None = None,
    expires: str | None = None,
) -> dict[str, Any]:
    """What is to be different from how it was, as the API names it."""
    from understudy.client.calls import given

    return given(
        scope=scope_of(scope),
        kind=kind,
        sensitivity=sensitivity,
        confidence=confidence,
        expires_at_ms=ending(expires),
    )
