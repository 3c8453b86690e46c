"""What is typed becomes values, or a usage error."""

import io
from pathlib import Path

import pytest
import typer

from understudy.cli import inputs


def test_a_text_comes_from_the_line_stdin_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "text"
    file.write_text("from a file")
    monkeypatch.setattr("sys.stdin", io.StringIO("from stdin"))

    assert inputs.content("typed", None) == "typed"
    assert inputs.content("-", None) == "from stdin"
    assert inputs.content(None, file) == "from a file"


@pytest.mark.parametrize(
    ("text", "file"), [(None, None), ("x", Path("y")), (None, Path("/nonexistent/file"))]
)
def test_no_text_or_two_are_a_mistake(text: str | None, file: Path | None) -> None:
    with pytest.raises(typer.BadParameter):
        inputs.content(text, file)


def test_what_is_wrong_with_a_file_is_said_in_words_alone(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")

    with pytest.raises(typer.BadParameter, match=r"cannot be read: No such file or directory$"):
        inputs.read_file(tmp_path / "none")
    with pytest.raises(typer.BadParameter, match=r"cannot be read: Is a directory$"):
        inputs.read_bytes(tmp_path)
    with pytest.raises(typer.BadParameter, match="it is not UTF-8 text"):
        inputs.read_file(tmp_path / "bytes")


def test_words_may_be_left_out_beside_an_attachment() -> None:
    assert inputs.content_beside(None, None, ["cat.png"]) is None
    assert inputs.content_beside("look", None, ["cat.png"]) == "look"
    with pytest.raises(typer.BadParameter):
        inputs.content_beside(None, None, [])


def test_allow_and_deny_become_lists() -> None:
    lists = inputs.scope_lists(["skill=a", "skill=b"], ["mcp_tool=x=y"], ("skill", "mcp_tool"))

    assert lists == {"skill_allow": ["a", "b"], "mcp_tool_deny": ["x=y"]}


@pytest.mark.parametrize("entry", ["skill", "skill=", "route=a", "=a"])
def test_an_entry_needs_a_known_kind_and_a_name(entry: str) -> None:
    with pytest.raises(typer.BadParameter):
        inputs.scope_lists([entry], [], ("skill",))


def test_a_url_is_a_webhook() -> None:
    assert inputs.reply_target("https://x.test/a:b") == ("http", "https://x.test/a:b")
    assert inputs.reply_target("local:inbox") == ("local", "inbox")
    assert inputs.reply_target("http:https://x.test") == ("http", "https://x.test")


@pytest.mark.parametrize("target", ["", "local", "local:"])
def test_a_target_needs_an_address(target: str) -> None:
    with pytest.raises(typer.BadParameter):
        inputs.reply_target(target)


def test_an_object_may_be_kept_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "input.json"
    file.write_text('{"a": 1}')

    assert inputs.json_argument(f"@{file}", "--input") == {"a": 1}
    assert inputs.json_argument('{"a": 1}', "--input") == {"a": 1}
    assert inputs.json_argument(None, "--input") is None
    with pytest.raises(typer.BadParameter, match="cannot be read"):
        inputs.json_argument("@/nonexistent/file", "--input")


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"a": NaN}', '{"a": "\\ud800"}'])
def test_an_option_that_wants_an_object_takes_nothing_else(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="--metadata"):
        inputs.json_object(text, "--metadata")


def test_fields_as_json_stand_beside_options_and_not_against_them() -> None:
    options = {"connector": None, "outgoing_url": "http://a.example"}

    assert inputs.with_fields(options, '{"connector": "slack"}') == {
        "connector": "slack",
        "outgoing_url": "http://a.example",
    }
    with pytest.raises(typer.BadParameter, match="'outgoing_url', which an option gives"):
        inputs.with_fields(options, '{"outgoing_url": "http://b.example"}')
