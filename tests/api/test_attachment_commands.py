"""`--attach` and `--asset`, wherever an input is given."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.commands import answer, invoke
from tests.api.live import Live

PNG = b"\x89PNG\r\n\x1a\n "


@pytest.fixture
def session(live: Live) -> str:
    session_id: str = live.ok("POST", "/v1/sessions", {})["session_id"]
    return session_id


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "cat.png"
    path.write_bytes(PNG + b"cat")
    return path


@pytest.fixture
def asset(live: Live, tmp_path: Path) -> str:
    """The id of a picture that was uploaded before."""
    path = tmp_path / "dog.png"
    path.write_bytes(PNG + b"dog")
    return invoke(live, "assets", "upload", path).stdout.strip()


def seen(live: Live) -> list[bytes]:
    """The pictures that the model was shown with the last input, in order."""
    parts = live.model.requests[-1].turns[-1].parts
    return [part.data for part in parts if part.kind == "image"]


@pytest.mark.parametrize(
    "command",
    [("runs", "submit", "--wait"), ("sessions", "input"), ("chat",)],
    ids=["submit", "input", "chat"],
)
def test_files_and_assets_reach_the_model_in_the_order_they_were_named(
    live: Live, session: str, picture: Path, asset: str, command: tuple[str, ...]
) -> None:
    where = ("--session", session) if command == ("chat",) else (session,)
    for options, expected in (
        (("--attach", picture, "--asset", asset), [PNG + b"cat", PNG + b"dog"]),
        (("--asset", asset, "--attach", picture), [PNG + b"dog", PNG + b"cat"]),
    ):
        live.model.queue("two animals")
        said = invoke(live, *command, *where, "what is it?", *options)
        assert "two animals" in said.stdout
        assert seen(live) == expected


def test_an_input_may_be_an_attachment_alone(live: Live, session: str, asset: str) -> None:
    live.model.queue("a dog")

    assert invoke(live, "sessions", "input", session, "--asset", asset).stdout == "a dog\n"
    run = answer(live, "runs", "submit", session, "--asset", asset)
    assert run["input_attachments"] == [asset]
    live.finished(run["run_id"])
    invoke(live, "runs", "submit", session, exit_code=2)


def test_a_schedule_sends_its_attachments_with_every_run(
    live: Live, session: str, picture: Path, asset: str
) -> None:
    made = answer(
        live, "schedules", "create", session, "look", "--every", "1d",
        "--asset", asset, "--attach", picture,
    )  # fmt: skip

    items: list[dict[str, Any]] = made["request"]["input_items"]
    assert [item["type"] for item in items] == ["text", "asset_reference", "asset_reference"]
    assert items[1]["asset_id"] == asset
    assert made["schedule_id"] in invoke(live, "assets", "references", asset).stdout
    assert "every 1d" in invoke(live, "schedules", "list", "--session", session).stdout


def test_an_asset_that_is_not_there_is_a_usage_error(live: Live, session: str) -> None:
    invoke(live, "runs", "submit", session, "x", "--asset", "ast_none", exit_code=2)
