"""`understudy api`: any operation of the HTTP API, by its method and path."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, quote

import typer

from understudy.cli import inputs
from understudy.cli.connection import DaemonConnection, command
from understudy.cli.output import print_json

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
IN_QUERY: Final = frozenset({"GET", "DELETE"})
WORDS: Final = {"true": True, "false": False, "null": None}


@command()
def call_api(
    daemon: DaemonConnection,
    method: Annotated[str, typer.Argument(metavar="METHOD", help="GET, POST, PUT or DELETE.")],
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="Such as `runs` or `/v1/runs?limit=3`.")
    ],
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            "-F",
            metavar="NAME=VALUE",
            help="A field: true, false, null, numbers and JSON as such, `@FILE` from a file.",
        ),
    ] = None,
    raw_field: Annotated[
        list[str] | None,
        typer.Option("--raw-field", "-f", metavar="NAME=TEXT", help="A field that is text."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--input", metavar="FILE", help="The body as JSON; `-` reads stdin."),
    ] = None,
    paginate: Annotated[bool, typer.Option(help="Go on to the last page of a list.")] = False,
) -> None:
    """Call an operation of the HTTP API; fields go into the query of GET and DELETE.

    `openapi` prints the operations with their fields.
    """
    method = method.upper()
    if method not in METHODS:
        raise typer.BadParameter(f"METHOD is one of {', '.join(METHODS)}; got {method!r}")
    address, query = _address(path)
    fields = {name: _value(text) for name, text in _pairs(field)} | dict(_pairs(raw_field))
    body = _body(source)
    if method in IN_QUERY and body is None:
        query |= {name: _query_text(value) for name, value in fields.items() if value is not None}
        fields = {}
    if body is not None and not isinstance(body, dict):
        raise typer.BadParameter("--input must be one JSON object")
    sent = None if method in IN_QUERY and body is None else {**(body or {}), **fields}
    answer = _answer(daemon, method, address, query, sent)
    if paginate and isinstance(answer, dict):
        answer = _all_pages(daemon, method, address, query, answer)
    if isinstance(answer, bytes):
        sys.stdout.flush()
        sys.stdout.buffer.write(answer)
    elif answer is not None:
        print_json(answer)


def _address(path: str) -> tuple[str, dict[str, Any]]:
    where, _, text = path.partition("?")
    parts = where.strip("/").split("/")
    known = parts[0] in ("v1", "openapi.json", "healthz", "readyz", "metrics", "mcp", "otlp", "a2a")
    address = "/" + "/".join(quote(part, safe="%:@") for part in ([] if known else ["v1"]) + parts)
    query: dict[str, Any] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        query[name] = value if name not in query else [*_listed(query[name]), value]
    return address, query


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _pairs(fields: list[str] | None) -> list[tuple[str, str]]:
    pairs = []
    for each in fields or ():
        name, equals, text = each.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"a field is NAME=VALUE; got {each!r}")
        pairs.append((name, text))
    return pairs


def _value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    if text.startswith("@"):
        return inputs.read_file(Path(text[1:]))
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # A text in quotes is meant with them.
    return text if isinstance(value, str) else value


def _query_text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return [_query_text(each) for each in value]
    return value if isinstance(value, str) else json.dumps(value)


def _body(source: Path | None) -> Any:
    if source is None:
        return None
    try:
        return json.loads(inputs.read_file(source))
    except ValueError as problem:
        raise typer.BadParameter(f"{source} is not JSON: {problem}") from None


def _answer(
    daemon: DaemonConnection, method: str, path: str, query: dict[str, Any], body: Any
) -> Any:
    content = daemon.client.call(method, path, query=query, body=body)
    try:
        return json.loads(content) if content else None
    except ValueError:
        return content


def _all_pages(
    daemon: DaemonConnection, method: str, path: str, query: dict[str, Any], first: dict[str, Any]
) -> dict[str, Any]:
    items, cursor = [*first.get("items", ())], first.get("next_cursor")
    while cursor:
        page = _answer(daemon, method, path, {**query, "cursor": cursor}, None)
        items += page.get("items", ())
        cursor = page.get("next_cursor")
    return {**first, "items": items, "next_cursor": None}
