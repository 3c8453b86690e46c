"""Arguments and options shared by the learning commands, and their parsers."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, TypeAlias

import typer

from understudy.cli.schedules import SECONDS, moment, span

SCOPE_KINDS: Final = ("session", "persona", "project", "workspace")
WORKSPACE_ID: Final = "default"
# The kinds that a caller may propose; only the daemon proposes run summaries.
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
TierOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--tier", help="`active`, or `provisional`, which is in no prompt."),
]
Supersedes: TypeAlias = Annotated[
    str | None,
    typer.Option("--supersedes", metavar="LEARNING", help="The learning whose place it takes."),
]
Beside: TypeAlias = Annotated[
    bool, typer.Option("--beside", help="Keep it beside what says the same or contradicts it.")
]
Evidence: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        metavar="RUN[:ARTIFACT]",
        help="A run that speaks for it, or one artifact of it; repeatable.",
    ),
]
AnotherKind: TypeAlias = Annotated[
    str | None, typer.Option("--kind", help=f"Another kind: {PROPOSED_KINDS}.")
]
Expires: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--expires", metavar="WHEN", help="When it ends: in 12h or 30d, or at 2030-01-31T09:00."
    ),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Only show what would become of each.")
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions:
    """Filters on open candidates."""

    query: Annotated[
        str | None,
        typer.Option(
            "--query", "-q", help="Only those with this in id, scope, kind, content or source run."
        ),
    ] = None
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Only those of `session:ID`, `persona:ID`, `project:ID` or `workspace`.",
        ),
    ] = None
    kind: Annotated[str | None, typer.Option("--kind", help=f"Only of a kind: {KINDS}.")] = None

    applies: Annotated[
        str | None,
        typer.Option("--applies", help="Only those told `always`, or only `when_relevant`."),
    ] = None

    def fields(self, **more: Any) -> dict[str, Any]:
        """The options that were given, under the field names of the API."""
        from understudy.client.calls import given

        scope = scope_of(self.scope) or {}
        where = {"scope_kind": scope.get("kind"), "scope_id": scope.get("id")}
        return given(query=self.query, **where, kind=self.kind, applies=self.applies, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOptions(ReviewOptions):
    """Filters on candidates."""

    state: Annotated[str | None, typer.Option("--state", help=f"Only in a state: {STATES}.")] = None

    def fields(self, **more: Any) -> dict[str, Any]:
        """The options that were given, under the field names of the API."""
        return ReviewOptions.fields(self, state=self.state, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningOptions(ReviewOptions):
    """Filters on learnings."""

    status: Annotated[
        str | None, typer.Option("--status", help=f"Only of a status: {STATUSES}.")
    ] = None
    decision: Annotated[
        str | None,
        typer.Option("--decision", help="Only those published so: `manual` or `automatic`."),
    ] = None
    actor: Annotated[
        str | None, typer.Option("--actor", help="Only those published by `operator` or `daemon`.")
    ] = None
    rule: Annotated[
        str | None,
        typer.Option("--rule", metavar="NAME", help="Only from candidates that this rule matched."),
    ] = None

    used: Annotated[
        bool | None,
        typer.Option("--used/--unused", help="Only those that a run was told of, or the others."),
    ] = None
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="SPAN", help="Only those published before, as 30d."),
    ] = None

    def fields(self, **more: Any) -> dict[str, Any]:
        """The options that were given, under the field names of the API."""
        return ReviewOptions.fields(
            self,
            used=self.used,
            published_before_ms=beginning(self.older_than),
            status=self.status,
            policy_decision=self.decision,
            policy_actor=self.actor,
            matched_rule_name=self.rule,
            **more,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentOptions:
    """Options that describe the content of a candidate or learning."""

    sensitivity: Annotated[
        str | None,
        typer.Option(
            "--sensitivity",
            help="`scoped`, or `sensitive`, which no prompt and no search tells of.",
        ),
    ] = None
    applies: Annotated[
        str | None,
        typer.Option(
            "--applies",
            help="`when_relevant`, or `always`: injected into every prompt, whatever the input.",
        ),
    ] = None
    confidence: Annotated[
        int | None, typer.Option("--confidence", help="How sure it is, from 0 to 100.")
    ] = None
    expires: Expires = None

    def fields(self) -> dict[str, Any]:
        """The options that were given, under the field names of the API."""
        return {
            "sensitivity": self.sensitivity,
            "applies": self.applies,
            "confidence": self.confidence,
            "expires_at_ms": ending(self.expires),
        }


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


def tomorrow_ms() -> int:
    """The start of tomorrow in the local time zone."""
    tomorrow = datetime.now().astimezone().date() + timedelta(days=1)
    return round(datetime.combine(tomorrow, datetime.min.time()).astimezone().timestamp() * 1000)


def beginning(text: str | None, now_ms: int | None = None) -> int | None:
    """The time that is a span before now."""
    if text is None:
        return None
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    try:
        return max(0, now - 1000 * span(text))
    except typer.BadParameter:
        raise typer.BadParameter(
            f"--older-than takes a span like 12h or 30d; got {text!r}"
        ) from None


def ending(text: str | None, now_ms: int | None = None, *, option: str = "--expires") -> int | None:
    """An expiry: a span from now, or a time."""
    if text is None:
        return None
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    try:
        return now + 1000 * span(text) if text[-1:] in SECONDS else moment(text)
    except typer.BadParameter:
        raise typer.BadParameter(
            f"{option} takes a span like 12h or 30d, or a time like 2030-01-31T09:00; got {text!r}"
        ) from None
