"""The pages for contributors name packages and files that exist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "understudy"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PROSE = re.sub(
    r"^```.*?^```",
    "",
    "\n".join([PAGE, *((ROOT / name).read_text() for name in ("AGENTS.md", "CONTRIBUTING.md"))]),
    flags=re.DOTALL | re.MULTILINE,
)
PATHS = sorted(set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|toml|yml))`", PROSE)))
PACKAGES = {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table that begins with these words."""
    (table,) = re.findall(rf"^\| {re.escape(heading)}.*\n\|-.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


@pytest.mark.parametrize("path", PATHS)
def test_every_path_on_the_pages_exists(path: str) -> None:
    assert (SOURCE / path).exists() or (ROOT / path).exists()


def test_the_table_names_every_package_once() -> None:
    named = [name for row in rows("packages") for name in re.findall(r"`(\w+)/`", row[0])]

    assert sorted(named) == sorted(PACKAGES)


def test_the_table_is_in_the_order_of_the_layers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    depth = {
        name.strip("() "): level for level, layer in enumerate(layers) for name in layer.split("|")
    }
    named = [name for row in rows("packages") for name in re.findall(r"`(\w+)/`", row[0])]

    assert named == sorted(named, key=depth.__getitem__)


def test_the_page_says_where_to_make_twenty_changes() -> None:
    changes = rows("change | look in")

    assert len(changes) >= 20
    assert all(re.search(r"`[^`]+`", place) for _, place in changes)
