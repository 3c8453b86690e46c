"""Pages are short, concepts begin with their short version, and shown commands exist."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scripts.cli_reference import entries
from understudy.cli.main import build_app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md"))]
FENCE = re.compile(r"^(`{3,})(\w*)[^\n]*\n(.*?)^\1", re.DOTALL | re.MULTILINE)
GENERATED = re.compile(r"<!-- rules: .*?<!-- end of rules -->", re.DOTALL)
# Pages that are looked up in, not read: made from the code, one table of words, or grown by release.
LOOKED_UP = {
    ROOT / "CHANGELOG.md",
    DOCS / "concepts" / "glossary.md",
    *(DOCS / "reference" / name for name in ("cli.md", "errors.md", "settings.md")),
}
MAX_WORDS = 1200
PARSERS: dict[str, Callable[[str], object]] = {"json": json.loads, "toml": tomllib.loads}
OPTIONS = {
    entry.path: {name for option in entry.options for name in option.names}
    for entry in entries(build_app())
}

GROUPS = {path.rpartition(" ")[0] for path in OPTIONS}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(page: Path) -> list[str]:
    """The words of a page outside of code blocks, link targets and generated tables."""
    text = GENERATED.sub("", FENCE.sub("", page.read_text()))
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return [word for word in text.split() if re.search(r"\w", word)]


def commands(page: Path) -> Iterator[str]:
    """The lines of shell blocks that call the program."""
    for _, language, block in FENCE.findall(page.read_text()):
        if language == "sh":
            joined = block.replace("\\\n", " ")
            yield from (line for line in joined.splitlines() if line.startswith("understudy "))


def headings(page: Path) -> set[str]:
    """The anchors that a page offers, spelled as renderers make them."""
    text = FENCE.sub("", page.read_text())
    lines = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in lines}


def unknown(command: str) -> list[str]:
    """What of a command line does not exist: the command itself, or its options."""
    words = shlex.split(command, comments=True)
    words = words[: next((at for at, word in enumerate(words) if word in {"|", ">", "&&"}), None)]
    path = words[0]
    for word in words[1:]:
        if f"{path} {word}" not in OPTIONS:
            break
        path += f" {word}"
    subcommand = words[len(path.split()) :][:1]
    if path in GROUPS and subcommand and not subcommand[0].startswith("-"):
        return subcommand
    given = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return [option for option in given if option not in OPTIONS[path]]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in LOOKED_UP], ids=name)
def test_a_page_can_be_read_in_one_sitting(page: Path) -> None:
    assert len(prose(page)) <= MAX_WORDS, "split it: a concept, and a reference page behind it"


@pytest.mark.parametrize(
    "page",
    [page for page in sorted((DOCS / "concepts").glob("*.md")) if page not in LOOKED_UP],
    ids=name,
)
def test_a_concept_begins_with_its_short_version(page: Path) -> None:
    start = page.read_text().partition("\n## ")[0]
    (rules,) = re.findall(r"Three rules that matter:\n\n(.*?)\n\n", start + "\n\n", re.DOTALL)

    assert FENCE.search(start.partition("Three rules")[0]), "it has no example before the rules"
    assert re.findall(r"^(\d)\. \*\*", rules, re.MULTILINE) == ["1", "2", "3"]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_that_is_shown_exists_with_its_options(page: Path) -> None:
    missing = {line: unknown(line) for line in commands(page)}

    assert {line: names for line, names in missing.items() if names} == {}


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    assert unknown("understudy skills bless PATH") == ["bless"]
    assert unknown("understudy runs list --loudly") == ["--loudly"]
    assert unknown("understudy runs list --status completed  # all of them") == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_anchor_of_a_link_is_a_heading(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s:]*)#([^)\s]+)\)", page.read_text())
    lost = [
        f"{target}#{anchor}"
        for target, anchor in links
        if anchor not in headings(page.parent / target if target else page)
    ]

    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_json_and_toml_block_parses(page: Path) -> None:
    for _, language, block in FENCE.findall(page.read_text()):
        if language in PARSERS:
            PARSERS[language](block)
