"""The commands of the pages on channels work as they stand, one after the other."""

import re
import shlex
from pathlib import Path

import pytest

from tests.api.live import Live, live_daemon
from tests.support.command_line_in_process import typed
from understudy.channels.arbitration import BLOCKERS, RANKS
from understudy.channels.bridge_model import Connector
from understudy.channels.model import AutonomyPolicy
from understudy.channels.stimulus_model import STIMULUS

DOCS = Path(__file__).parents[2] / "docs"
CONCEPT = (DOCS / "concepts" / "channels.md").read_text()
HOWTO = (DOCS / "howto" / "bridge-a-channel.md").read_text()


@pytest.mark.parametrize("text", [CONCEPT, HOWTO], ids=["concept", "how-to"])
def test_every_command_does_what_the_page_says(text: str, tmp_path: Path) -> None:
    [block] = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    with live_daemon(tmp_path / "home") as live:
        _follow(live, block)


def _follow(live: Live, block: str) -> None:
    environment = {"UNDERSTUDY_URL": str(live.client.base_url)}
    for line in block.strip().splitlines():
        done = typed(*shlex.split(line)[1:], env=environment)
        assert done.exit_code == 0, f"{line}: {done.output}"


def test_the_page_tells_every_rule_every_limit_and_every_state() -> None:
    for code, _ in (*BLOCKERS, *RANKS):
        assert f"`{code}`" in CONCEPT
    for name, value in vars(AutonomyPolicy)["__dataclass_fields__"].items():
        assert f"| `{name}` | {value.default} |" in CONCEPT
    assert STIMULUS.mermaid() in CONCEPT


def test_the_how_to_lists_every_connector() -> None:
    assert re.findall(r"^\| `(\w+)` \| ", HOWTO, re.MULTILINE)[-6:] == [str(it) for it in Connector]
