"""`understudy permissions`: the permission rules for all agents."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from understudy.cli import ids, inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import Expected
from understudy.cli.output import note
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    _check_arguments(daemon, rules)
    before = [] if daemon.as_json else _rules(daemon.client.permissions.get().rules)
    if dropped := [rule for rule in before if rule not in rules]:
        named = ", ".join(f"{rule.decision} {rule.tool}" for rule in dropped)
        note(f"{screen.count(len(dropped), 'rule')} dropped: {named}; `add` keeps what there is")
    return daemon.client.permissions.set(rules, expected_revision=expected_revision)


@commands("add", show=_show)
def add(
    daemon: DaemonConnection, allow: Allow = None, ask: Ask = None, deny: Deny = None
) -> object:
    """Add rules to those that hold for every agent; the others stay."""
    rules = typed_rules(allow=allow, ask=ask, deny=deny, file=None)
    _check_arguments(daemon, rules)
    current = daemon.client.permissions.get()
    kept = _rules(current.rules)
    new = [rule for rule in rules if rule not in kept]
    return daemon.client.permissions.set([*kept, *new], expected_revision=current.revision)


@commands("remove", show=_show)
def remove(
    daemon: DaemonConnection,
    numbers: Annotated[
        list[int] | None,
        typer.Argument(metavar="[RULE]...", help="Their numbers, as `show` lists them."),
    ] = None,
    allow: Allow = None,
    ask: Ask = None,
    deny: Deny = None,
) -> object:
    """Remove rules by their numbers, or as they were given; the others stay."""
    current = daemon.client.permissions.get()
    kept = _rules(current.rules)
    if not numbers:
        named = typed_rules(allow=allow, ask=ask, deny=deny, file=None)
        numbers = [_number(rule, kept) for rule in named]
    if unknown := [each for each in numbers if not 1 <= each <= len(kept)]:
        raise typer.BadParameter(f"there is no rule {unknown[0]}; there are {len(kept)}")
    left = [rule for number, rule in enumerate(kept, start=1) if number not in numbers]
    return daemon.client.permissions.set(left, expected_revision=current.revision)


def _rules(given: "Iterable[CallRule]") -> "list[PermissionRule]":
    """The rules in force as a body has them, so that they can be compared and sent back."""
    from understudy.wire.permissions import PermissionRule

    return [
        PermissionRule(
            tool=rule.tool,
            decision=rule.decision,
            arguments=dict(rule.arguments or {}) or None,
            reason=rule.reason or None,
        )
        for rule in given
    ]


def _number(rule: "PermissionRule", rules: "Sequence[PermissionRule]") -> int:
    for number, each in enumerate(rules, start=1):
        if each.model_copy(update={"reason": rule.reason}) == rule:
            return number
    raise typer.BadParameter(f"no rule to {rule.decision} {rule.tool!r} is so; `show` lists them")


def _check_arguments(daemon: DaemonConnection, rules: "Sequence[PermissionRule]") -> None:
    """Refuse a rule about an argument that the tool does not have: it would match nothing."""
    named = {rule.tool: rule.arguments for rule in rules if rule.arguments}
    if not named:
        return
    tools = {tool.name: tool.parameters for tool in daemon.client.tools.list()}
    for tool, arguments in named.items():
        known = tools.get(tool, {}).get("properties")
        for name in arguments or ():
            if known and name not in known:
                told = ids.meant(name, [*known]) or ""
                raise typer.BadParameter(f"{tool} has no argument {name!r}; {told}")


declare(
    commands,
    Verb(names="show get", call="permissions.get", show=_show),
)
