"""Somebody at the terminal."""

import io
from pathlib import Path

import pytest

from understudy.cli.person import Left, Somebody, somebody
from understudy.settings import editor_command


def test_nobody_is_there_when_input_is_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a\n"))

    assert somebody() is None


def test_a_prompt_does_not_get_into_what_is_piped_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("  yes \n"))
    person = Somebody()

    assert person.ask("well? ") == "yes"
    with pytest.raises(Left):
        person.ask("well? ")

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "well? well? \n"


def test_a_text_is_edited_in_the_editor_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\nprintf %s "$1" >> "$2"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"'{editor}' ' and more'")

    assert Somebody().edit("this") == "this and more"


@pytest.mark.parametrize("command", ["false", "/nonexistent/editor", "'unfinished"])
def test_an_editor_that_does_not_work_is_said_and_no_edit(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VISUAL", command)

    assert Somebody().edit("this") is None
    assert "the editor did not work" in capsys.readouterr().err


def test_the_editor_is_named_by_the_usual_variables() -> None:
    assert editor_command({"EDITOR": "a", "VISUAL": "b"}) == "b"
    assert editor_command({"EDITOR": "a", "VISUAL": ""}) == "a"
    assert editor_command({}) is None


def test_there_is_nothing_to_forget_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "typed"
    file.write_text("typed ahead\n")
    with file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        Somebody().forget_typed()
        assert Somebody().ask("") == "typed ahead"
