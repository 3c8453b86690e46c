"""Ids as people type them: a beginning that is unique, `@last`, and what there is instead."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

import typer

from understudy.cli.output import ExitCode, client_problem, note, print_json
from understudy.cli.screen import visible_line
from understudy.core.ids import ALPHABET, MADE_ID

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.client.errors import ClientError

LAST: Final = "@last"
# Kinds of records, and the type that their ids begin with; arguments are named after them.
TYPES: Final[Mapping[str, str]] = {
    "run": "run",
    "session": "ses",
    "learning": "lrn",
    "candidate": "cand",
    "skill": "skl",
    "agent": "",
    "persona": "per",
    "project": "prj",
    "channel": "chn",
    "schedule": "sch",
    "approval": "req",
    "question": "req",
    "asset": "ast",
    "flow": "flw",
    "background_task": "bgt",
}
# Arguments with another name than their kind.
NAMED: Final[Mapping[str, str]] = {"supersedes": "learning", "task": "background_task"}
_WHOLE: Final = re.compile(MADE_ID)
# Shorter ones, such as `run_1`, are taken for names that a caller gave.
_CUT: Final = re.compile(rf"([a-z]+)_[{ALPHABET}]{{4,31}}")
# Characters of a short id after its type: seven of seconds, then random ones.
SHORT_CHARS: Final = 11
MOST_SHOWN: Final = 5
MOST_COMPARED: Final = 200


def kinds_of(parameters: Mapping[str, Any]) -> dict[str, str]:
    """The kind of id that each parameter of a command takes, by the name of the parameter."""
    return {
        name: kind
        for name, annotation in parameters.items()
        if (kind := _kind(name, annotation)) is not None
    }


def _kind(name: str, annotation: Any) -> str | None:
    metavars = [getattr(each, "metavar", None) for each in get_args(annotation)[1:]]
    shown = next((str(each).strip("[].").lower() for each in metavars if each), None)
    word = shown or name.removesuffix("_id")
    kind = NAMED.get(word, word)
    return kind if kind in TYPES else None


def resolve(
    client: "Client", typed: dict[str, Any], kinds: Mapping[str, str], *, as_json: bool
) -> None:
    """Replace what was typed of ids by whole ids, in place."""
    for name, kind in kinds.items():
        value = typed.get(name)
        if isinstance(value, str):
            typed[name] = resolved(client, kind, value, as_json=as_json)
        elif isinstance(value, list | tuple):
            typed[name] = [
                resolved(client, kind, each, as_json=as_json) if isinstance(each, str) else each
                for each in value
            ]


def resolved(client: "Client", kind: str, word: str, *, as_json: bool = False) -> str:
    """The id that a word stands for; a whole id and a name stay as they are."""
    from understudy.client.errors import ProblemError

    if word == LAST:
        return _last(client, kind, as_json=as_json)
    cut = _CUT.fullmatch(word)
    if cut is None or cut[1] != TYPES[kind] or _WHOLE.fullmatch(word):
        return word
    try:
        found = client.ids.find(kind, prefix=word, limit=MOST_SHOWN + 1).items
    except ProblemError:
        # An older daemon, or one that refuses: the command itself tells.
        return word
    if any(each.id == word for each in found) or not found:
        # A caller's own name, or nothing: the daemon says what is not there.
        return word
    if len(found) == 1:
        return str(found[0].id)
    lines = [f"{each.id}  {visible_line(each.label)}".rstrip() for each in found[:MOST_SHOWN]]
    more = ["…"] if len(found) > MOST_SHOWN else []
    detail = f"'{word}' begins more than one {kind.replace('_', ' ')}"
    if as_json:
        print_json(client_problem("ambiguous_id", "Ambiguous id", detail))
    note(f"error: {detail}:")
    for line in (*lines, *more):
        note(f"  {line}")
    raise typer.Exit(ExitCode.USAGE)


def _last(client: "Client", kind: str, *, as_json: bool) -> str:
    found = client.ids.find(kind, mine=True, limit=1).items
    if not found:
        detail = f"there is no {kind.replace('_', ' ')} of yours yet, so {LAST} is none"
        if as_json:
            print_json(client_problem("no_last", "Nothing yet", detail, status=404))
        note(f"error: {detail}")
        raise typer.Exit(ExitCode.NOT_FOUND)
    about = f"  {visible_line(found[0].label)}" if found[0].label else ""
    note(f"{LAST} is {found[0].id}{about}")
    return str(found[0].id)


def add_hint(
    client: "Client", problem: "ClientError", typed: Mapping[str, Any], kinds: Mapping[str, str]
) -> None:
    """Note on an error that a name is unknown which one was meant, or what there is."""
    from understudy.client.errors import ClientError, ProblemError

    if not isinstance(problem, ProblemError) or "not_found" not in problem.code:
        return
    # Some refusals say by themselves what there is.
    if "there are" in str(problem):
        return
    for name, kind in [*kinds.items(), ("route", "route")]:
        word = typed.get(name)
        if isinstance(word, str) and f"'{word}'" in str(problem):
            try:
                known = _known(client, kind)
            except ClientError:
                return
            if hint := meant(word, known):
                problem.add_note(hint)
            return


def _known(client: "Client", kind: str) -> list[str]:
    if kind == "route":
        return [each.route_id for each in client.routes.list()]
    found = client.ids.find(kind, limit=MOST_COMPARED).items
    # A skill is named by its slug.
    return [str(each.label if kind == "skill" and each.label else each.id) for each in found]


def meant(word: str, known: Sequence[str]) -> str | None:
    """Which name was meant, or what there is; None where there is nothing."""
    if close := difflib.get_close_matches(word, known, n=1):
        return f"did you mean '{visible_line(close[0])}'?"
    shown = ", ".join(map(visible_line, known[:MOST_SHOWN]))
    return f"there is: {shown}{', …' if len(known) > MOST_SHOWN else ''}" if shown else None


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """A short form of each id that the daemon made; longer where two would be alike."""
    whole = {each for each in ids if _WHOLE.fullmatch(each)}
    short: dict[str, str] = {}
    for each in whole:
        length = each.index("_") + 1 + SHORT_CHARS
        while any(other != each and other.startswith(each[:length]) for other in whole):
            length += 1
        short[each] = each[:length]
    return short
