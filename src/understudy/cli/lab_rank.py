"""`understudy lab rank`: the scorer on documents and questions from files."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from understudy.cli.lab import Line
from understudy.cli.options import Commands
from understudy.cli.output import ExitCode, note

if TYPE_CHECKING:
    from understudy.retrieval.documents import Document

commands = Commands("Rank documents.")


@commands("rank")
def rank(
    docs: Annotated[
        Path,
        typer.Option(help="Documents: id, text, scope, and timestamp, session, speaker, source."),
    ],
    queries: Annotated[Path, typer.Option(help="Questions: id, text, scope.")],
    floor: Annotated[
        float, typer.Option(min=0, max=1, help="Leave out what covers less of the question.")
    ] = 0.0,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to name.")] = 10,
) -> None:
    """Rank documents for each question of its scope; writes {"qid","ids","scores"} lines."""
    from understudy.retrieval.collection import Collection
    from understudy.retrieval.score import relevant

    collection = Collection(
        (str(line.get("scope", "")), _document(docs, number, line)) for number, line in _lines(docs)
    )
    for number, line in _lines(queries):
        asked = _text(queries, number, line, "text")
        found = collection.search(asked, str(line.get("scope", "")))
        told = [it for it in found if it.score > 0 and relevant(it, floor)][:limit]
        answer = {
            "qid": line.get("id"),
            "ids": [it.id for it in told],
            "scores": [it.score for it in told],
        }
        print(json.dumps(answer))


def _document(path: Path, number: int, line: Line) -> "Document":
    try:
        return document_of(line)
    except (KeyError, TypeError, ValueError) as problem:
        _refuse(path, number, f"{type(problem).__name__}: {problem}")


def document_of(line: Line) -> "Document":
    """A document as the sets of test data write it."""
    from understudy.retrieval.documents import Document, Field

    return Document(
        id=str(line["id"]),
        fields=(Field(name="text", text=str(line["text"])),),
        at_ms=_milliseconds(line.get("timestamp")),
        session=_optional(line, "session"),
        about=_optional(line, "speaker"),
        source=_optional(line, "source"),
    )


def _optional(line: Line, name: str) -> str | None:
    value = line.get(name)
    return None if value is None else str(value)


def _milliseconds(timestamp: object) -> int:
    if timestamp is None:
        return 0
    if isinstance(timestamp, int | float):
        return int(timestamp)
    at = datetime.fromisoformat(str(timestamp))
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def _lines(path: Path) -> Iterator[tuple[int, Line]]:
    """The objects in a file of JSON lines, compressed or not; a bad line ends the command."""
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as file
        ):
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    yield number, _object(path, number, raw)
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        note(f"error: {path}: {problem}")
        raise typer.Exit(ExitCode.USAGE) from problem


def _object(path: Path, number: int, raw: str) -> Line:
    try:
        line = json.loads(raw)
    except ValueError as problem:
        _refuse(path, number, f"not JSON: {problem}")
    if not isinstance(line, dict):
        _refuse(path, number, "not a JSON object")
    return line


def _text(path: Path, number: int, line: Line, name: str) -> str:
    value = line.get(name)
    if not isinstance(value, str):
        _refuse(path, number, f"`{name}` must be a string")
    return value


def _refuse(path: Path, number: int, why: str) -> NoReturn:
    note(f"error: {path}: line {number}: {why}")
    raise typer.Exit(ExitCode.USAGE)
