"""Arguments and options that the commands about skills share, and what is typed as them."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

if TYPE_CHECKING:
    from understudy.wire.skill_requests import AcknowledgedFinding

VISIBILITIES: Final = "`private`, `internal` or `public`"
ACKNOWLEDGED: Final = re.compile(r"(?P<rule>[^@\s]+)@(?P<path>.+?):(?P<line>\d+)=(?P<reason>.+)")
UNANSWERED: Final = (
    "--acknowledge has to name every finding, takes the role admin,"
    " and a daemon whose config says `allow_acknowledged = true` under [guard]"
)

SkillRef: TypeAlias = Annotated[
    str, typer.Argument(metavar="SKILL", help="The skill's slug or id.")
]
Slug: TypeAlias = Annotated[
    str | None,
    typer.Option(help="What to call it in paths; by default as the front matter says."),
]
OfVersion: TypeAlias = Annotated[
    int | None, typer.Option("--version", min=1, help="Which version; the current one by default.")
]
Acknowledge: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE@PATH:LINE=REASON",
        help="A finding of the guard that you answer for; admins, where it is allowed; repeatable.",
    ),
]
ForAgent: TypeAlias = Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Agent.")]
ForUser: TypeAlias = Annotated[str | None, typer.Option("--user", metavar="USER", help="User.")]


@contextmanager
def answering_for(entries: Sequence[str] | None) -> Iterator[None]:
    """Tell whoever answered for findings in vain what that takes."""
    from understudy.client import UnsafeError

    try:
        yield
    except UnsafeError as problem:
        if entries:
            problem.add_note(UNANSWERED)
        raise


def acknowledged(entries: Sequence[str] | None) -> list["AcknowledgedFinding"]:
    """`P1.sudo@SKILL.md:12=our image needs it` as what is acknowledged."""
    from understudy.wire.skill_requests import AcknowledgedFinding

    found = []
    for entry in entries or ():
        parts = ACKNOWLEDGED.fullmatch(entry)
        if parts is None:
            raise typer.BadParameter(f"--acknowledge takes RULE@PATH:LINE=REASON; got {entry!r}")
        rule, path, line, reason = parts.groups()
        found.append(
            AcknowledgedFinding(rule_id=rule, path=path, line=int(line), reason=reason.strip())
        )
    return found
