"""The session with skills says what the commands print, from the first to the last."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.api.live import Live, live_daemon
from tests.support.command_line import typed

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "skills.md").read_text()
FILES = dict(re.findall(r"`([\w-]+/[\w./-]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL))
# A command with what it printed.
STEP = re.compile(r"^\$ (.+)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)
STEPS = [
    step
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for step in STEP.findall(block)
]
ID = re.compile(r"\b(?:skl|run)_[0-9a-f]{32}\b|\brelease-notes\.\d{10}\b")
VARIES = (
    (ID, "ID"),
    (re.compile(r"\b\d+[smhd] ago|just now"), "AGO"),
    (re.compile(r"/\S*?/demo\b"), "DEMO"),
    (re.compile(r"[ ]+"), " "),
    (re.compile(r"[ ]\n"), "\n"),
)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    # The daemon in this process would print its log among what commands print.
    with (
        capture_logs(),
        live_daemon(tmp_path / "demo", config=FILES["demo/config.toml"]) as live,
    ):
        yield live


def plain(text: str) -> list[str]:
    """What does not vary from one time to the next, line by line."""
    for pattern, word in VARIES:
        text = pattern.sub(word, text)
    return text.strip().splitlines()


def cut_like(told: list[str], shown: list[str]) -> list[str]:
    """What was told, as far as the page shows each line."""
    ends = [len(line) - 1 if line.endswith("…") else None for line in shown]
    return [
        line[:end] + ("" if end is None else "…") for line, end in zip(told, ends, strict=False)
    ] + told[len(shown) :]


def test_every_step_prints_what_the_page_shows(fresh: Live) -> None:
    environment = {"UNDERSTUDY_URL": str(fresh.client.base_url)}
    ids: dict[str, str] = {}

    for command, printed in STEPS:
        name, *words = shlex.split(ID.sub(lambda found: ids[found[0]], command))
        result = typed(*words, env=environment)

        assert name == "understudy"
        shown = plain(printed)
        assert cut_like(plain(result.output), shown) == shown, command
        ids.update(zip(ID.findall(printed), ID.findall(result.output), strict=True))

    assert len(STEPS) > 15


def test_the_program_uses_what_the_client_has(
    fresh: Live, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    environment = {"UNDERSTUDY_URL": str(fresh.client.base_url)}
    for words in (["upload", "release-notes"], ["export", "release-notes"]):
        done = typed("skills", *words, env=environment)
        assert done.exit_code == 0, done.output

    exec(code.replace("http://127.0.0.1:4600", str(fresh.client.base_url)), {})

    assert capsys.readouterr().out == "True agent_grant\n"
