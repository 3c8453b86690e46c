"""Commands as rows: each names a call of the client, and how its answer is shown.

Arguments, options and help texts come from the operation itself, by way of `commands.json`.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from understudy.cli.connection import Commands, Show
from understudy.cli.options import Key, PageOptions

NAMED: Final = inspect.Parameter.KEYWORD_ONLY
TYPES: Final[Mapping[str, Any]] = {"text": str, "number": int, "switch": bool, "texts": list[str]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A command that makes one call."""

    # The name, then aliases that are not listed.
    names: str
    # The call as the client names it, such as `runs.get`.
    call: str
    show: Show | None = None
    empty: str | None = None
    # Instead of the text of the operation.
    help: str | None = None
    # Parameters of the call that are options under another name.
    options: Mapping[str, str] | None = None
    hidden: tuple[str, ...] = ()


def declare(commands: Commands, *verbs: Verb) -> None:
    """Add a command for each row."""
    for verb in verbs:
        name, *aliases = verb.names.split()
        commands(name, *aliases, show=verb.show, empty=verb.empty)(_function(verb))


@cache
def calls() -> Mapping[str, Any]:
    """The arguments and the help of every call of the client."""
    found: Mapping[str, Any] = json.loads(Path(__file__).with_name("commands.json").read_text())
    return found


def _function(verb: Verb) -> Callable[..., Any]:
    """The function that a person would write for the row."""
    entry = calls()[verb.call]
    arguments = [each for each in entry["arguments"] if each["name"] not in verb.hidden]
    typed_as = {each["name"]: _typed_name(verb, each) for each in arguments}
    in_path = [each["name"] for each in arguments if each["in"] == "path"]

    def call(daemon: Any, **typed: Any) -> Any:
        page = typed.pop("page", {})
        key = {"key": typed.pop("key")} if "key" in typed else {}
        given = {name: typed[word] for name, word in typed_as.items()}
        path = [given.pop(name) for name in in_path]
        rest = {name: value for name, value in given.items() if value not in (None, [], ())}
        return attrgetter(verb.call)(daemon.client)(*path, **rest, **page, **key)

    parameters = [inspect.Parameter("daemon", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [_parameter(typed_as[each["name"]], each) for each in arguments]
    if entry.get("pages"):
        parameters.append(inspect.Parameter("page", NAMED, annotation=PageOptions))
    if entry.get("key"):
        parameters.append(inspect.Parameter("key", NAMED, annotation=Key, default=None))
    as_written: Any = call
    as_written.__signature__ = inspect.Signature(parameters)
    call.__doc__ = verb.help or entry["help"]
    return call


def _typed_name(verb: Verb, argument: Mapping[str, Any]) -> str:
    name = str(argument["name"])
    if argument["in"] == "path":
        return name
    return (verb.options or {}).get(name) or name.removesuffix("_id")


def _parameter(name: str, argument: Mapping[str, Any]) -> inspect.Parameter:
    kind = TYPES[argument["type"]]
    words = str(argument.get("help", ""))
    # As a sentence, like every other text of help.
    told = f"{words[:1].upper()}{words[1:].rstrip('.')}." if words else None
    metavar = name.removesuffix("_id").upper()
    if argument["in"] == "path":
        annotation: Any = Annotated[kind, typer.Argument(metavar=metavar, help=told)]
        return inspect.Parameter(name, NAMED, annotation=annotation)
    option = f"--{name.replace('_', '-')}"
    flags = [option] if kind is not bool else [f"{option}/--no-{option[2:]}"]
    if argument.get("required"):
        return inspect.Parameter(
            name, NAMED, annotation=Annotated[kind, typer.Option(*flags, help=told)]
        )
    annotation = Annotated[kind | None, typer.Option(*flags, help=told)]
    return inspect.Parameter(name, NAMED, annotation=annotation, default=None)
