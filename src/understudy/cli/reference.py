"""The command line described from its own definition, as Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import typer
from typer.core import TyperGroup

from understudy.cli.output import ExitCode

SHARED: Final = ("--url", "--token", "--json")
EXIT_MEANINGS: Final = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed; also when a run that was waited for did not complete",
    ExitCode.USAGE: "the command line, a value in it, or a setting is wrong",
    ExitCode.NOT_FOUND: "there is no such thing",
    ExitCode.REFUSED: "refused: a token, a role, or the state of the thing forbids it",
    ExitCode.UNREACHABLE: "no daemon answers, or it is starting or draining",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An argument or an option."""

    names: tuple[str, ...]
    help: str
    value: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A command, or a group of commands."""

    path: str
    help: str
    is_group: bool
    arguments: tuple[Parameter, ...] = ()
    options: tuple[Parameter, ...] = ()

    @property
    def usage(self) -> str:
        """How it is typed."""
        parts = [self.path, *(argument.names[0] for argument in self.arguments), "[OPTIONS]"]
        return " ".join(parts)


def entries(app: typer.Typer) -> list[Entry]:
    """Every command and group that help lists, each group before its commands."""
    return list(_walk("understudy", typer.main.get_command(app)))


def cli_markdown(app: typer.Typer) -> str:
    """The page about the command line."""
    found = entries(app)
    lines = [
        "# Command line",
        "",
        "Made by `scripts/reference`; change the commands, not this page.",
        "",
        found[0].help,
        "",
        "Every command but `serve` takes:",
        "",
        *(_bullet(option) for option in found[0].options if option.names[0] in SHARED),
        "",
        "With `--json` stdout holds the API's JSON alone; what is for people goes to stderr.",
        "",
        "| exit code | means |",
        "|---|---|",
        *(f"| {code} | {EXIT_MEANINGS[code]} |" for code in ExitCode),
    ]
    for entry in found[1:]:
        lines += ["", *_section(entry)]
    return "\n".join(lines) + "\n"


def _walk(path: str, command: Any) -> Iterator[Entry]:
    is_group = isinstance(command, TyperGroup)
    yield Entry(
        path=path,
        help=" ".join((command.help or "").split()),
        is_group=is_group,
        arguments=tuple(_parameters(command, "argument")),
        options=tuple(_parameters(command, "option")),
    )
    for name, child in command.commands.items() if is_group else ():
        if not child.hidden:
            yield from _walk(f"{path} {name}", child)


def _parameters(command: Any, kind: str) -> Iterator[Parameter]:
    for parameter in command.params:
        if parameter.param_type_name != kind or "completion" in parameter.name:
            continue
        is_flag = getattr(parameter, "is_flag", False)
        names = (parameter.metavar,) if kind == "argument" else (*parameter.opts,)
        default = parameter.default
        yield Parameter(
            names=names,
            help=parameter.help or "",
            value="" if is_flag or kind == "argument" else _value(parameter),
            default="" if default in (None, False, "") else str(default),
        )


def _value(parameter: Any) -> str:
    kind = parameter.type.name.partition(" ")[0].upper()
    return str(parameter.metavar or {"STR": "TEXT"}.get(kind, kind))


def _section(entry: Entry) -> list[str]:
    if entry.is_group:
        return [f"## {entry.path}", "", entry.help]
    depth = "###" if entry.path.count(" ") > 1 else "##"
    lines = [f"{depth} {entry.path}", "", entry.help, "", "```", entry.usage, "```"]
    own = [option for option in entry.options if option.names[0] not in SHARED]
    described = [*entry.arguments, *own]
    return [*lines, "", *map(_bullet, described)] if described else lines


def _bullet(parameter: Parameter) -> str:
    names = ", ".join(parameter.names) + (f" {parameter.value}" if parameter.value else "")
    default = f" Default: `{parameter.default}`." if parameter.default else ""
    return f"- `{names}`: {parameter.help}{default}"
