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


@pytest.mark.parametrize("text", ["{", "[]", "3"])
def test_an_option_that_wants_an_object_takes_nothing_else(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="--metadata"):
        inputs.json_object(text, "--metadata")
