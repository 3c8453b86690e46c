"""Files and assets that go along with an input."""

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from understudy.cli import inputs
from understudy.cli.inputs import Asset, Attach, FileToUpload, KnownAsset
from understudy.cli.options import ConnectedCommand

RUNNER = CliRunner()


def parsed(*line: str) -> list[inputs.Attachment]:
    found: list[inputs.Attachment] = []
    app = typer.Typer()

    @app.command(cls=ConnectedCommand)
    def command(ctx: typer.Context, attach: Attach = None, asset: Asset = None) -> None:
        found.extend(inputs.named(ctx, attach, asset))

    result = RUNNER.invoke(app, [*line])
    assert result.exit_code == 0, result.output
    return found


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    made = {name: tmp_path / name for name in ("a.txt", "b.txt")}
    for name, path in made.items():
        path.write_text(name)
    return made


def test_files_and_assets_keep_the_order_in_which_they_were_typed(files: dict[str, Path]) -> None:
    a, b = (str(path) for path in files.values())

    found = parsed("--asset", "ast_1", "--attach", b, f"--attach={a}", "--asset=ast_2")

    assert found == [
        KnownAsset(name="ast_1"),
        FileToUpload(name="b.txt", data=b"b.txt"),
        FileToUpload(name="a.txt", data=b"a.txt"),
        KnownAsset(name="ast_2"),
    ]
    assert parsed() == []


def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="No such file"):
        inputs.read(tmp_path / "none")
