"""`lab rank` ranks documents of files for questions of files."""

import gzip
import json
from pathlib import Path

import pytest

from tests.support.command_line_in_process import typed

DOCUMENTS = (
    {"id": "a", "text": "Atlas is the codename", "scope": "x", "timestamp": "2025-03-01T00:00:00"},
    {"id": "b", "text": "bananas are snacks", "scope": "x", "speaker": "Mia", "session": "s"},
    {"id": "c", "text": "Atlas is the codename", "scope": "y", "source": "said at lunch"},
)


def write(path: Path, lines: object) -> Path:
    text = "".join(f"{json.dumps(line)}\n" for line in lines) if isinstance(lines, tuple) else lines
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(str(text).encode()))
    else:
        path.write_text(str(text))
    return path


def ranked(docs: Path, queries: Path, *options: str) -> tuple[int, list[dict[str, object]]]:
    arguments = ["lab", "rank", "--docs", str(docs), "--queries", str(queries), *options]
    result = typed(*arguments)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_each_question_is_answered_from_its_own_scope(tmp_path: Path, ending: str) -> None:
    docs = write(tmp_path / f"docs.{ending}", DOCUMENTS)
    asked = (
        {"id": "q1", "text": "what is the codename", "scope": "x"},
        {"id": "q2", "text": "volcano", "scope": "x"},
        {"id": "q3", "text": "codename", "scope": "y"},
    )
    code, answers = ranked(docs, write(tmp_path / f"queries.{ending}", asked))

    assert code == 0
    assert [(it["qid"], it["ids"]) for it in answers] == [("q1", ["a"]), ("q2", []), ("q3", ["c"])]


def test_a_floor_leaves_out_what_covers_too_little(tmp_path: Path) -> None:
    docs = write(tmp_path / "docs.jsonl", DOCUMENTS)
    asked = ({"id": "q", "text": "the codename of the volcano Etna", "scope": "x"},)
    queries = write(tmp_path / "queries.jsonl", asked)

    assert ranked(docs, queries)[1][0]["ids"] == ["a"]
    assert ranked(docs, queries, "--floor", "0.9")[1][0]["ids"] == []


def test_a_limit_names_the_best_only(tmp_path: Path) -> None:
    same = tuple({"id": f"d{n}", "text": "Atlas", "timestamp": n} for n in range(5))
    docs = write(tmp_path / "docs.jsonl", same)
    queries = write(tmp_path / "queries.jsonl", ({"id": "q", "text": "atlas"},))

    assert ranked(docs, queries, "--limit", "2")[1][0]["ids"] == ["d4", "d3"]


@pytest.mark.parametrize(
    "bad", ["not json\n", "[1]\n", '{"id": "a"}\n', '{"id":"a","text":"b","timestamp":"soon"}\n']
)
def test_a_bad_document_is_refused_by_its_line(tmp_path: Path, bad: str) -> None:
    docs = write(tmp_path / "docs.jsonl", bad)
    queries = write(tmp_path / "queries.jsonl", ({"id": "q", "text": "atlas"},))

    assert ranked(docs, queries) == (2, [])


def test_a_question_without_text_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    docs = write(tmp_path / "docs.jsonl", DOCUMENTS)

    assert ranked(docs, write(tmp_path / "queries.jsonl", ({"id": "q"},))) == (2, [])
    assert ranked(docs, tmp_path / "nothing.jsonl") == (2, [])
    assert ranked(docs, write(tmp_path / "cut.jsonl", '{"id": "q"').with_suffix(".gz")) == (2, [])
