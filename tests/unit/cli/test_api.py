"""`understudy api`: any operation by its method and path."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line_in_process import Typed, typed
from tests.support.tiny_daemon import AskedRequest, tiny_daemon
from understudy.cli.output import ExitCode

ANSWER: dict[str, Any] = {"items": [1], "next_cursor": None}


def called(*words: str, path: str = "/v1/runs") -> tuple[Typed, AskedRequest]:
    with tiny_daemon({path: ANSWER}) as (url, asked):
        done = typed("--url", url, "api", *words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == ANSWER
    return done, asked[0]


@pytest.mark.parametrize("path", ["runs", "/runs", "v1/runs", "/v1/runs"])
def test_a_path_may_leave_out_the_version(path: str) -> None:
    assert called("get", path)[1].target == "/v1/runs"


def test_fields_of_a_get_are_its_query() -> None:
    _, asked = called("GET", "runs?cursor=c", "-F", "limit=3", "-F", "all=true", "-f", "q=true x")
    assert asked.target == "/v1/runs?cursor=c&limit=3&all=true&q=true+x"


def test_fields_of_a_post_are_its_body_with_their_types(tmp_path: Path) -> None:
    text = tmp_path / "note.txt"
    text.write_text("from a file")
    fields = ("n=3", "yes=true", "none=null", "list=[1]", "word=3x", f"file=@{text}")
    typed_fields = [part for each in fields for part in ("--field", each)]
    _, asked = called("POST", "runs", *typed_fields, "-f", "text=3")
    assert json.loads(asked.body) == {
        "n": 3,
        "yes": True,
        "none": None,
        "list": [1],
        "word": "3x",
        "file": "from a file",
        "text": "3",
    }
    assert asked.headers["Idempotency-Key"]


def test_a_body_is_read_from_a_file_and_fields_are_added(tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text('{"a": 1, "b": 2}')
    _, asked = called("PUT", "runs", "--input", str(body), "-F", "b=3")
    assert json.loads(asked.body) == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    "words", [("FETCH", "runs"), ("POST", "runs", "-F", "x"), ("GET", "runs", "-F", "=1")]
)
def test_what_is_no_call_is_refused_before_one_is_made(words: tuple[str, ...]) -> None:
    with tiny_daemon({}) as (url, asked):
        assert typed("--url", url, "api", *words).exit_code == ExitCode.USAGE
    assert asked == []


def test_an_unknown_path_is_not_found() -> None:
    with tiny_daemon({}) as (url, _):
        done = typed("--url", url, "api", "GET", "nosuch")
    assert done.exit_code != 0
    assert done.stdout == ""
