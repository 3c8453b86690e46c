"""The pages can be found, lead somewhere, and name what there is."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from understudy.agents.model import CONTEXT_FILES
from understudy.providers.scripted import Script
from understudy.telemetry import metrics
from understudy.wire.events import StreamEventName

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
AT_THE_TOP = sorted(ROOT.glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
METRICS = sorted(set(re.findall(r'"(understudy_[a-z_]+)"', Path(metrics.__file__).read_text())))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def links(page: Path) -> list[str]:
    """The targets of a page's links that lie in this tree."""
    targets = [target.partition("#")[0] for target in LINK.findall(page.read_text())]
    return [target for target in targets if target and ":" not in target]


@pytest.mark.parametrize("page", [*PAGES, *AT_THE_TOP], ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [target for target in links(page) if not (page.parent / target).exists()] == []


def test_every_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)

    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def test_the_first_page_links_every_other() -> None:
    others = {str(page.relative_to(DOCS)) for page in PAGES} - {"index.md"}

    assert others - set(links(DOCS / "index.md")) == set()


@pytest.mark.parametrize("event", get_args(StreamEventName))
def test_every_event_of_the_streams_is_described(event: str) -> None:
    assert f"`{event}`" in (DOCS / "howto" / "use-the-http-api.md").read_text()


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_described(metric: str) -> None:
    assert f"`{metric}`" in (DOCS / "reference" / "metrics.md").read_text()


@pytest.mark.parametrize("file", CONTEXT_FILES)
def test_every_context_file_is_described(file: str) -> None:
    assert f"`{file}`" in (DOCS / "concepts" / "agents.md").read_text()


def test_the_words_of_the_glossary_are_in_order() -> None:
    words = re.findall(
        r"^\| ([a-z ]+) \|", (DOCS / "concepts" / "glossary.md").read_text(), re.MULTILINE
    )

    assert words[0] == "word"
    assert words[1:] == sorted(words[1:])


def test_the_script_in_the_documents_is_one() -> None:
    page = (DOCS / "howto" / "script-the-offline-model.md").read_text()
    _, script = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)

    rules = Script.model_validate(tomllib.loads(script)).reply

    assert [rule.fits("Report costs, please") for rule in rules] == [True, True]
