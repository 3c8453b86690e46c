"""`understudy lab`: guard, capture, ranking and other parts on JSON lines, for benchmarks."""

import gzip
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.output import ExitCode, note

if TYPE_CHECKING:
    from understudy.retrieval.documents import Document
    from understudy.wire.lab import LabReportView

Line = dict[str, Any]

commands = Commands(
    "Try the product's own parts: on one text, or on JSON lines from stdin to stdout."
)


def answer_lines(answer: Callable[[Line], Line]) -> None:
    """Answer each line of stdin with one line on stdout, under the same id."""
    for number, line in read_lines(sys.stdin.buffer):
        try:
            made = answer(line)
        except (KeyError, TypeError, ValueError) as problem:
            refuse(number, f"{type(problem).__name__}: {problem}")
        # ASCII, so that a lone surrogate survives any encoding of stdout.
        print(json.dumps({"id": line.get("id"), **made}))


def read_lines(source: Iterable[str | bytes], name: str = "") -> Iterator[tuple[int, Line]]:
    """The JSON objects in lines, with their line numbers; a bad line ends the command."""
    for number, raw in enumerate(source, 1):
        if not raw.strip():
            continue
        try:
            line = json.loads(raw)
        except ValueError as problem:
            refuse(number, f"not JSON: {problem}", name)
        if not isinstance(line, dict):
            refuse(number, "not a JSON object", name)
        yield number, line


def refuse(number: int, why: str, name: str = "") -> NoReturn:
    """Report the invalid line and file, and exit."""
    note(f"error: {name and f'{name}: '}line {number}: {why}")
    raise typer.Exit(ExitCode.USAGE)


def text_of(line: Line) -> str:
    """The `text` of a line; `TypeError` when it is not a string."""
    text = line.get("text")
    if not isinstance(text, str):
        raise TypeError("`text` must be a string")
    return text


class SectionName(StrEnum):
    """Which section a text is shown in."""

    RECOVERED_MEMORY = "recovered_memory"
    LEARNED_CONTEXT = "learned_context"


# A source and its label, as they stand above a note.
EXAMPLES: Final = {
    SectionName.RECOVERED_MEMORY: ("run_example", "completed"),
    SectionName.LEARNED_CONTEXT: ("lrn_example", "fact"),
}


@commands("frame")
def frame(
    section: Annotated[
        SectionName, typer.Option(help="The section to show the texts in.")
    ] = SectionName.RECOVERED_MEMORY,
) -> None:
    """Render `text` of each line as a note: {"id","text"} → {"id","rendered","nonce"}."""
    answer_lines(partial(_framed, section=section))


def _framed(line: Line, *, section: SectionName) -> Line:
    from understudy.retrieval.frame import FRAMES, GAP, Note, heading, new_mark

    frame, mark = FRAMES[section], new_mark()
    source_id, label = EXAMPLES[section]
    note = Note(id=source_id, label=label, text=text_of(line))
    parts = (heading(frame.name), frame.opening(mark), frame.block(note, mark))
    return {"rendered": GAP.join(parts), "nonce": mark}


INSPECTED: Final[screen.Layout] = {
    "without secrets": "redaction.text",
    "secrets": "redaction.secrets",
    "personal data": "redaction.pii",
    "guard": lambda view: "allows it" if view.guard.allowed else "rejects it",
    "may be learned": "statement.accepted",
    "refused": "statement.refused",
    "key": "statement.semantic_key",
    "subject": "statement.subject_key",
    "applies": "statement.applies",
    "says the same as": "statement.duplicate_of",
    "says otherwise than": "statement.conflicts_with",
    "second text": "statement.relation",
    "policy": "policy.outlook.action",
    "reason": "policy.outlook.reason",
}


def _show_inspected(view: "LabReportView") -> None:
    screen.record(view, INSPECTED)
    screen.records(
        view.guard.findings, {"rule": "rule_id", "line": "line", "why": "reason"}, empty=""
    )


@commands("inspect", show=_show_inspected)
def inspect(
    daemon: DaemonConnection,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text; `-` reads stdin.")],
    other: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A statement to compare it with.")
    ] = None,
    kind: Annotated[str, typer.Option(help="The kind of statement.")] = "fact",
) -> object:
    """Show what redaction, guard and policy of a daemon make of a text; nothing is stored."""
    from understudy.learnings.model import Kind
    from understudy.wire.lab import InspectText

    given = sys.stdin.read() if text == "-" else text
    return daemon.client.lab.inspect(InspectText(text=given, other=other, kind=Kind(kind)))


@commands("guard")
def guard() -> None:
    """Judge `files` (or one `text`) of each line: {"id","files"} → {"id","verdict","rules","findings"}."""
    answer_lines(_judged_skill)


def _judged_skill(line: Line) -> Line:
    from understudy.guard.texts import MANIFEST_NAME
    from understudy.skills.content_guard import scan_skill

    files = {MANIFEST_NAME: line["text"]} if "text" in line else line.get("files")
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise TypeError("`files` must hold texts by their paths, or `text` one text")
    found = scan_skill({path: text.encode("utf-8", "replace") for path, text in files.items()})
    return {
        "verdict": "reject" if found else "allow",
        "rules": sorted({finding.rule_id for finding in found}),
        "findings": [
            {
                "rule_id": finding.rule_id,
                "category": str(finding.category),
                "path": finding.path,
                "line": finding.line,
                "reason": finding.reason,
            }
            for finding in found
        ],
    }


@commands("learn")
def learn() -> None:
    """Judge `text` of each line: {"id","text","kind"} → {"id","verdict","reason"}."""
    answer_lines(_judged_statement)


def _judged_statement(line: Line) -> Line:
    from understudy.learnings.model import Kind
    from understudy.review.lab import refusal_of

    refused = refusal_of(text_of(line), Kind(line.get("kind", Kind.FACT)))
    return {"verdict": "reject" if refused else "accept", "reason": refused}


@commands("capture")
def capture() -> None:
    """Find the labelled statements of `request`: {"id","request","reply"} → {"id","candidates"}."""
    answer_lines(_captured)


def _captured(line: Line) -> Line:
    from understudy.learnings.capture_settings import MAX_CANDIDATES_PER_RUN
    from understudy.learnings.extraction import labelled

    request = line.get("request")
    if not isinstance(request, str):
        raise TypeError("`request` must be a string")
    found = labelled(request, most=MAX_CANDIDATES_PER_RUN)
    return {
        "candidates": [{"kind": str(it.kind), "content": it.content} for it in found.statements]
    }


@commands("standing")
def standing() -> None:
    """Tell standing instructions from topical ones: {"id","text","kind"} → {"id","standing"}."""
    from understudy.learnings.model import Kind
    from understudy.learnings.standing import is_standing

    answer_lines(
        lambda line: {"standing": is_standing(text_of(line), Kind(line.get("kind", Kind.FACT)))}
    )


@commands("contradict")
def contradict() -> None:
    """Compare two statements: {"id","a","b"} → {"id","relation"}: same, conflict or unrelated."""
    answer_lines(_related)


def _related(line: Line) -> Line:
    from understudy.learnings.keys import obvious_relation
    from understudy.learnings.model import Relation

    one, other = line.get("a"), line.get("b")
    if not isinstance(one, str) or not isinstance(other, str):
        raise TypeError("`a` and `b` must be strings")
    names = {Relation.SAME: "same", Relation.CONTRADICTS: "conflict", Relation.UNKNOWN: "unrelated"}
    return {"relation": names[obvious_relation(one, other)]}


@commands("memory-ask")
def memory_ask() -> None:
    """Tell whether `text` of each line asks for what is remembered: {"id","text"} → {"id","ask"}."""
    from understudy.retrieval.memory_request import asks_for_memory

    answer_lines(lambda line: {"ask": asks_for_memory(text_of(line))})


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
    from understudy.retrieval.score import least_coverage, relevant

    collection = Collection(
        (str(line.get("scope", "")), _document(docs, number, line)) for number, line in _lines(docs)
    )
    for number, line in _lines(queries):
        try:
            asked = text_of(line)
        except TypeError as problem:
            refuse(number, str(problem), str(queries))
        found = collection.search(asked, str(line.get("scope", "")))
        least = least_coverage(found, floor) if floor else 0.0
        matching = (it for it in found if it.score > 0 and relevant(it, least))
        told = tuple(islice(matching, limit))
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
        refuse(number, f"{type(problem).__name__}: {problem}", str(path))


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
            yield from read_lines(file, str(path))
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        note(f"error: {path}: {problem}")
        raise typer.Exit(ExitCode.USAGE) from problem


@commands("redact")
def redact() -> None:
    """Scrub `text` of each line: {"id","text"} → {"id","text"}."""
    from understudy.review.lab import redaction_of

    answer_lines(lambda line: {"text": redaction_of(text_of(line)).text})


@commands("preview")
def preview() -> None:
    """Scrub, then cut `text` to `limit`: {"id","text","limit"} → {"id","preview"}."""
    from understudy.redaction.scrub import preview as cut

    answer_lines(lambda line: {"preview": cut(text_of(line), _limit(line))})


def _limit(line: Line) -> int:
    limit = line.get("limit")
    if type(limit) is not int or limit < 0:
        raise ValueError("`limit` must be a number from 0")
    return limit


@commands("verify")
def verify() -> None:
    """Whether the user's request says a statement: {"id","request","statement"} → {"id","supported"}."""
    from understudy.learnings.assertion import is_said_by_user

    answer_lines(
        lambda line: {
            "supported": is_said_by_user(_text(line, "statement"), _text(line, "request"))
        }
    )


def _text(line: Line, name: str) -> str:
    text = line.get(name)
    if not isinstance(text, str):
        raise TypeError(f"`{name}` must be a string")
    return text
