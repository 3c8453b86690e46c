"""What the pages about memory tell to type works as it is written, and names what there is."""

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.live import Live, live_daemon
from tests.api.test_memory_commands import run
from understudy.daemon import learning_status, memory_status
from understudy.retrieval.recovered import RunReason

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "howto" / "inspect-memory.md").read_text()
CODES = sorted(
    {
        code
        for module in (memory_status, learning_status)
        for code in re.findall(r'"((?:run_memory|learning)_\w+)",\n', inspect.getsource(module))
    }
)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Live]:
    with live_daemon(tmp_path / "home") as live:
        yield live


def test_the_commands_on_the_page_work_one_after_the_other(fresh: Live, tmp_path: Path) -> None:
    fresh.session("demo")
    fresh.run("demo", "Note that the launch codename is Atlas")
    last = str(fresh.run("demo", "Who knows the Atlas codename?")["run_id"])
    (tmp_path / "policy.json").write_text('{"max_prompt_entries": 1}')
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    text = re.sub(r"run_[0-9a-z]{26,32}", last, "".join(blocks))
    text = text.replace("policy.json", str(tmp_path / "policy.json"))
    lines = [shlex.split(line) for line in text.splitlines()]

    told = {}
    for name, *line in lines:
        assert name == "understudy"
        yes = ["--yes"] if line[1] == "forget" else []
        told[" ".join(line[:2])] = run(fresh, *line, *yes)

    assert "Atlas" in told["memory context"]
    assert "Atlas" in told["memory search"]
    assert "it matches the input" in told["memory explain"]
    assert "request in full" in told["memory show"]


@pytest.mark.parametrize("code", CODES)
def test_every_health_code_is_described(code: str) -> None:
    assert f"| `{code}` |" in (DOCS / "reference" / "health.md").read_text()


@pytest.mark.parametrize("reason", RunReason)
def test_every_reason_is_described(reason: RunReason) -> None:
    assert f"`{reason}`" in (DOCS / "concepts" / "run-memory.md").read_text()
