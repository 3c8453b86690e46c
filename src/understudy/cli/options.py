"""The options of every command, and the arguments and options that several commands share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias, TypedDict

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

PANEL: Final = "Every command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The values of the options that every command takes."""

    url: str | None = None
    token: str | None = None
    json: bool = False
    wide: bool = False


def shared(ctx: typer.Context) -> Shared:
    """The shared options, wherever on the command line they stood."""
    given = {name: ctx.meta[_key(name)] for name in Shared.__slots__ if _key(name) in ctx.meta}
    return Shared(**given)


def shared_options() -> list[TyperOption]:
    """Fresh options; their values are stored for `shared`, not passed to the command."""
    return [
        _option("--url", str, metavar="URL", help="Where the daemon is (or UNDERSTUDY_URL)."),
        _option("--token", str, metavar="TOKEN", help="Who is calling (or UNDERSTUDY_TOKEN)."),
        _option("--json", bool, is_flag=True, help="Print the API's JSON alone on stdout."),
        _option("--wide", bool, is_flag=True, help="Show tables whole on a terminal, too."),
    ]


class ListsByDefault(TyperGroup):
    """A group that does one thing, such as to list, when nothing else is asked of it."""

    default: ClassVar = "list"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default where no command stands."""
        is_named = bool(args) and not args[0].startswith("-")
        is_help = bool(args) and args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if is_named or is_help else [self.default, *args])


class ServesByDefault(ListsByDefault):
    """A group that serves when nothing else is asked of it."""

    default: ClassVar = "stdio"


class ConnectedCommand(TyperCommand):
    """A command that also takes the shared options."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.extend(shared_options())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and record the order of options for `typed_order`."""
        _, _, order = self.make_parser(ctx).parse_args(args=[*args])
        ctx.meta[_key("order")] = [param.name for param in order]
        return super().parse_args(ctx, args)


def typed_order(ctx: typer.Context) -> list[str]:
    """The names of the parameters in the order typed, with repeats."""
    order: list[str] = ctx.meta[_key("order")]
    return order


def _option(name: str, kind: type, **more: Any) -> TyperOption:
    def keep(ctx: typer.Context, param: Any, value: Any) -> None:
        if value:
            ctx.meta[_key(param.name)] = value

    return TyperOption(
        param_decls=[name],
        type=kind,
        callback=keep,
        expose_value=False,
        rich_help_panel=PANEL,
        **more,
    )


def _key(name: str) -> str:
    return f"understudy.{name}"


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


class PageOptions(TypedDict):
    """The page of a list: --limit and --cursor."""

    limit: int
    cursor: str | None


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
Expected: TypeAlias = Annotated[
    int | None, typer.Option("--expected-revision", help="Refuse if it is another by now.")
]
