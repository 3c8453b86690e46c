"""Each line of the threat model names a test that there is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = re.findall(
    r"^\| .*\|$", (ROOT / "SECURITY.md").read_text().split("## What we do not")[0], re.MULTILINE
)[2:]


def test_the_threat_model_has_lines() -> None:
    assert len(LINES) >= 20


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split("|")[1].strip()[:40])
def test_a_threat_names_a_test_that_there_is(line: str) -> None:
    ((path, name),) = re.findall(r"`(tests/\S+)::(test_\w+)` \|$", line)

    assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE)
