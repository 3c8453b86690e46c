"""Assets with the real daemon: the command line, a restart, and where the bytes are."""

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support import program
from tests.support.command_line_process import Terminal, environment
from tests.support.environment import without_settings

pytestmark = pytest.mark.e2e
PNG = b"\x89PNG\r\n\x1a\n picture"


def understudy(live: DaemonWithModel, *arguments: str | Path, code: int = 0) -> str:
    """What a command printed."""
    done = program.run(
        [*map(str, arguments)],
        {**without_settings(os.environ), "UNDERSTUDY_URL": live.daemon.url},
    )
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout.strip()


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "cat.png"
    path.write_bytes(PNG)
    return path


def test_a_file_goes_from_the_command_line_to_the_model_and_stays(
    live: DaemonWithModel, picture: Path, tmp_path: Path
) -> None:
    live.daemon.post("/v1/sessions", {"session_id": "s1"})
    live.model.queue("a cat")

    reply = understudy(live, "runs", "submit", "s1", "what is it?", "--attach", picture, "--wait")
    live.daemon.stop()
    live.daemon.start()
    asset_id = understudy(live, "assets", "upload", picture)
    live.daemon.run("s1", "and its colour?")

    assert reply == "a cat"
    assert [part.kind for part in live.model.requests[0].turns[-1].parts] == ["text", "image"]
    again = [turn.parts for turn in live.model.requests[1].turns if turn.role == "user"]
    assert [[part.kind for part in parts] for parts in again] == [["text", "image"], ["text"]]
    assert again[0][1].data == PNG
    assert asset_id in understudy(live, "assets", "list")
    assert "run_" in understudy(live, "assets", "references", asset_id)
    understudy(live, "assets", "delete", asset_id, code=4)
    understudy(live, "assets", "download", asset_id, tmp_path / "copy.png")
    assert (tmp_path / "copy.png").read_bytes() == PNG
    understudy(live, "assets", "download", asset_id, tmp_path / "copy.png", code=2)
    told = understudy(live, "assets", "download", asset_id, tmp_path / "copy2.png", "--json")
    assert json.loads(told) == live.daemon.get(f"/v1/assets/{asset_id}")
    assert (tmp_path / "copy2.png").read_bytes() == PNG
    understudy(live, "assets", "download", asset_id, "-", "--json", code=2)


def test_a_file_goes_along_with_the_next_message_of_a_conversation(
    shared_live: DaemonWithModel, picture: Path, tmp_path: Path
) -> None:
    chat = Terminal(["chat"], environment(shared_live.daemon))
    try:
        chat.wait_for_prompt()
        chat.type(f"/attach {tmp_path / 'none'}")
        chat.wait_for("cannot be read: No such file")
        chat.wait_for_prompt()
        chat.type(f"/attach {picture}")
        chat.wait_for("cat.png (16 bytes) goes with your next message")
        chat.wait_for_prompt()
        shared_live.model.queue("a cat", "as I said")
        for line, reply, kinds in (
            ("what is it?", "a cat", ["text", "image"]),
            ("sure?", "as I said", ["text"]),
        ):
            chat.type(line)
            chat.wait_for(reply)
            chat.wait_for_prompt()
            turn = shared_live.model.requests[-1].turns[-1]
            assert [part.kind for part in turn.parts] == kinds
    finally:
        chat.close()


def test_what_nothing_needs_is_collected(shared_live: DaemonWithModel, picture: Path) -> None:
    # Of its own content, or it would be the asset of another test.
    picture.write_bytes(PNG + b" of nobody")
    asset_id = understudy(shared_live, "assets", "upload", picture, "--name", "other.png")

    assert "other.png" in understudy(shared_live, "assets", "show", asset_id)
    assert understudy(shared_live, "assets", "gc") == ""
    assert asset_id in understudy(shared_live, "assets", "gc", "--older-than", "0", "--dry-run")
    assert asset_id in understudy(shared_live, "assets", "gc", "--older-than", "0")
    understudy(shared_live, "assets", "show", asset_id, code=3)


def test_a_file_that_cannot_be_sent_is_a_mistake_of_the_caller(
    shared_live: DaemonWithModel, picture: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()

    understudy(shared_live, "assets", "upload", tmp_path / "none", code=2)
    understudy(shared_live, "assets", "upload", tmp_path, code=2)
    understudy(shared_live, "assets", "upload", tmp_path / "empty", code=2)
    understudy(shared_live, "assets", "upload", picture, "--media-type", "image/gif", code=2)
