"""The session with skills says what the commands print, from the first to the last."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.live import Live
from tests.support.command_line_in_process import typed
from tests.support.worked_pages import WorkedPage

PAGE = WorkedPage(
    "skills.md", re.compile(r"\b(?:skl|run)_[0-9a-z]{26,32}\b|\brelease-notes\.\d{10}\b")
)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.chdir(tmp_path)
    with PAGE.daemon(tmp_path) as live:
        yield live


def test_every_step_prints_what_the_page_shows(fresh: Live) -> None:
    assert PAGE.follow(fresh) > 15


def test_the_program_uses_what_the_client_has(
    fresh: Live, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.text, re.DOTALL)
    environment = {"UNDERSTUDY_URL": str(fresh.client.base_url)}
    for words in (["upload", "release-notes"], ["export", "release-notes"]):
        done = typed("skills", *words, env=environment)
        assert done.exit_code == 0, done.output

    exec(code.replace("http://127.0.0.1:4600", str(fresh.client.base_url)), {})

    assert capsys.readouterr().out == "True agent_grant\n"
