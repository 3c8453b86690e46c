"""The layout that is described is the one there is."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "understudy"
PACKAGES = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
LINE = re.compile(r"^  ((?:\w+/ ?)+)")


def described() -> list[str]:
    """The packages of the layout in `AGENTS.md`, in its order."""
    text = (ROOT / "AGENTS.md").read_text()
    (block,) = re.findall(r"^src/understudy/\n(.*?)^tests/", text, re.DOTALL | re.MULTILINE)
    lines = [LINE.match(line) for line in block.splitlines()]
    assert all(lines), block
    return [name for line in lines if line for name in line[1].replace("/", " ").split()]


def test_the_layout_names_every_package_once() -> None:
    assert sorted(described()) == sorted(PACKAGES)


def test_there_is_no_code_beside_the_packages() -> None:
    assert [path.name for path in SOURCE.glob("*.py")] == ["__init__.py"]


def test_the_folders_of_tests_are_named() -> None:
    (words,) = re.findall(r"^tests/\s+(.*)$", (ROOT / "AGENTS.md").read_text(), re.MULTILINE)
    folders = {path.name for path in (ROOT / "tests").iterdir() if [*path.glob("*.py")]}

    assert {name for name in folders if not re.search(rf"\b{name}\b", words)} == set()
