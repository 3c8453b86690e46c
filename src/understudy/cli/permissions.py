"""`understudy permissions`: the permission rules for all agents."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Expected

if TYPE_CHECKING:
    from understudy.permissions.model import CallRule
    from understudy.wire.permissions import PermissionRule, PermissionsView

FORM: Final = "TOOL [ARGUMENT=PATTERN]"
COLUMNS: Final = ("rule", "of", "decision", "tool", "arguments", "reason")

Allow: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar=FORM, help="Calls that run; repeatable."),
]
Ask: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--ask", metavar=FORM, help="Calls that a person must approve; repeatable."),
]
Deny: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--deny", metavar=FORM, help="Calls that never run; repeatable."),
]
RulesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--file", help='Read {"rules": […]} from a file; `-` reads stdin.'),
]
Clear: TypeAlias = Annotated[bool, typer.Option("--clear", help="Leave no rules.")]


def typed_rules(
    *,
    allow: list[str] | None,
    ask: list[str] | None,
    deny: list[str] | None,
    file: Path | None,
    clear: bool = False,
) -> "list[PermissionRule]":
    """The rules given by options or by a file."""
    from understudy.wire.permissions import PermissionRule

    options = (("allow", allow), ("ask", ask), ("deny", deny))
    given = [_rule(decision, text) for decision, texts in options for text in texts or ()]
    if (bool(given) + (file is not None) + clear) != 1:
        raise typer.BadParameter("give rules as options, or a --file, or say that there are none")
    rules = given if file is None else _from_file(file)
    return [PermissionRule.model_validate(rule) for rule in rules]


def row(whose: str, index: int, rule: "CallRule") -> tuple[object, ...]:
    """A rule as a line of a table."""
    pairs = [f"{name}={pattern}" for name, pattern in (rule.arguments or {}).items()]
    return index + 1, whose, rule.decision, rule.tool, "  ".join(pairs) or None, rule.reason


def _rule(decision: str, text: str) -> dict[str, Any]:
    tool, _, rest = text.strip().partition(" ")
    rule: dict[str, Any] = {"tool": tool, "decision": decision}
    if rest.strip():
        name, equals, pattern = rest.strip().partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--{decision} takes {FORM}; got {text!r}")
        rule["arguments"] = {name.strip(): pattern}
    return rule


def _from_file(file: Path) -> list[Any]:
    try:
        document = json.loads(inputs.read_file(file))
    except ValueError as problem:
        raise typer.BadParameter(f"{file} is not JSON: {problem}") from None
    found = document.get("rules") if isinstance(document, dict) else document
    if not isinstance(found, list):
        raise typer.BadParameter(f'{file} must hold {{"rules": […]}}')
    return found


commands = Commands("Permissions: which tool calls may run, for every agent.")


def _show(view: "PermissionsView") -> None:
    rows = [row("daemon", index, rule) for index, rule in enumerate(view.rules)]
    screen.table(COLUMNS, rows, empty="No rules: every tool keeps its own default.")


@commands("show", "get", show=_show)
def show(daemon: DaemonConnection) -> object:
    """Show the rules that hold for every agent."""
    return daemon.client.permissions.get()


@commands("set", show=_show)
def replace(
    daemon: DaemonConnection,
    allow: Allow = None,
    ask: Ask = None,
    deny: Deny = None,
    file: RulesFile = None,
    clear: Clear = False,
    expected_revision: Expected = None,
) -> object:
    """Replace the rules that hold for every agent; the next tool call sees them."""
    rules = typed_rules(allow=allow, ask=ask, deny=deny, file=file, clear=clear)
    return daemon.client.permissions.set(rules, expected_revision=expected_revision)
