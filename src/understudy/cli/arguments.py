"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

TARGET_HELP: Final = "Where the output goes: `local:NAME`, or a webhook's URL."
SessionId: TypeAlias = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]
RunId: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]
PersonaId: TypeAlias = Annotated[str, typer.Argument(metavar="PERSONA", help="The persona's id.")]
ProjectId: TypeAlias = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
AgentId: TypeAlias = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")]
InSession: TypeAlias = Annotated[
    str | None, typer.Option("--session", metavar="SESSION", help="Only those of a session.")
]
OfRun: TypeAlias = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="Only those of a run.")
]
Limit: TypeAlias = Annotated[int, typer.Option("--limit", min=1, max=200, help="How many to show.")]
Cursor: TypeAlias = Annotated[
    str | None, typer.Option("--cursor", help="Go on after an earlier page.")
]
Text: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[TEXT]", help="What to work on; `-` reads stdin.")
]
TextFile: TypeAlias = Annotated[
    Path | None, typer.Option("--file", help="Read the text from a file; `-` reads stdin.")
]
Key: TypeAlias = Annotated[
    str | None,
    typer.Option("--idempotency-key", help="A repeat with the same key does nothing more."),
]
Locale: TypeAlias = Annotated[
    str | None,
    typer.Option("--locale", metavar="TAG", help="What the daemon speaks: en, vi or zh."),
]
Allow: TypeAlias = Annotated[
    list[str] | None, typer.Option("--allow", metavar="KIND=NAME", help="Allow one; repeatable.")
]
Deny: TypeAlias = Annotated[
    list[str] | None, typer.Option("--deny", metavar="KIND=NAME", help="Deny one; repeatable.")
]
Home: TypeAlias = Annotated[
    Path | None, typer.Option("--home", help="Where its files live (UNDERSTUDY_HOME).")
]
Bind: TypeAlias = Annotated[
    str | None,
    typer.Option("--bind", metavar="HOST:PORT", help="Where to listen (UNDERSTUDY_BIND)."),
]
DatabaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--database-url", metavar="URL", help="SQLite or PostgreSQL (UNDERSTUDY_DATABASE_URL)."
    ),
]
ConfigFile: TypeAlias = Annotated[
    Path | None, typer.Option("--config", help="The config file (UNDERSTUDY_CONFIG).")
]
Workspace: TypeAlias = Annotated[
    Path | None,
    typer.Option("--workspace", help="The agents' working directory (UNDERSTUDY_WORKSPACE)."),
]
