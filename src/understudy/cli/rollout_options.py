"""Arguments and options that the commands about rollouts share."""

from typing import Annotated, Final, TypeAlias

import typer

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
