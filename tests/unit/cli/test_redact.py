"""`understudy redact` and `understudy lab redact|preview`: text in, text without secrets out."""

import io
import json

import pytest

from tests.support.command_line_in_process import typed
from understudy.cli.local import PART_BYTES, parts

KEY = "sk-" + "ant-" + "a1" * 12


def run(*arguments: str, text: str | bytes) -> str:
    result = typed(*arguments, stdin=text)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_secrets_and_personal_data_go_from_stdin_to_stdout() -> None:
    text = f"mail bob@example.com, key {KEY}\n"
    assert run("redact", text=text) == "mail <redacted:email>, key <redacted:api-key>\n"
    assert run("redact", "--no-pii", text=text) == "mail bob@example.com, key <redacted:api-key>\n"


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    result = typed("redact", stdin=b"a \xff\xfe " + KEY.encode() + b"\n")
    assert result.stdout_bytes == b"a \xff\xfe <redacted:api-key>\n"


def test_big_input_is_taken_in_parts_that_break_no_key() -> None:
    line = b"all quiet\n"
    head = line * (PART_BYTES // len(line) - 1)
    block = b"-----BEGIN " + b"PRIVATE KEY-----\n" + b"MIIE" * 16 + b"\n-----END PRIVATE KEY-----\n"
    nested = b"password:\n" + b"  value\n" * 4
    text = head + block + head + nested + line
    made = list(parts(io.BytesIO(text)))
    assert b"".join(made) == text
    assert len(made) > 1
    assert sum(block in part for part in made) == 1
    assert not any(part.startswith(b" ") for part in made)


def test_a_line_without_an_end_is_one_part() -> None:
    text = b"x" * (2 * PART_BYTES)
    assert list(parts(io.BytesIO(text))) == [text]


def test_the_lab_answers_each_line_under_its_id() -> None:
    lines = [{"id": "a", "text": f"use {KEY} \ud800"}, {"id": "b", "text": "nothing"}]
    text = "\n".join(map(json.dumps, lines)) + "\n\n"
    assert [json.loads(line) for line in run("lab", "redact", text=text).splitlines()] == [
        {"id": "a", "text": "use <redacted:api-key> \ud800"},
        {"id": "b", "text": "nothing"},
    ]


def test_the_lab_scrubs_a_preview_before_it_cuts_it() -> None:
    text = json.dumps({"id": 1, "text": f"abc {KEY} tail", "limit": 8})
    assert json.loads(run("lab", "preview", text=text)) == {"id": 1, "preview": "abc …"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("not json", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"id": 1}', "`text` must be a string"),
        ('{"id": 1, "text": "a", "limit": -1}', "`limit` must be a number from 0"),
    ],
)
def test_a_bad_line_is_named_and_ends_the_command(line: str, why: str) -> None:
    good = json.dumps({"id": 0, "text": "a", "limit": 5})
    result = typed("lab", "preview", stdin=f"{good}\n{line}\n")
    assert result.exit_code == 2
    assert "line 2" in result.stderr
    assert why in result.stderr
