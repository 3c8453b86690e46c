"""The pages of `docs/`: loaded, ordered, rendered, and split into sections for the search."""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

import yaml
from markdown_it.token import Token
from markupsafe import Markup

from understudy.console.markdown import html_of, parsed, plain

START: Final = "index"
# A wheel holds a copy; in a checkout the folder lies beside the sources.
PACKAGED: Final = files("understudy.console.documentation").joinpath("docs")
CHECKOUT: Final = Path(__file__).parents[4]
COMMENT: Final = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)
Href = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsSection:
    """A heading with its text: the unit that a search finds."""

    page: str
    title: str
    anchor: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsHeading:
    """An entry of a page's table of contents."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsPage:
    """A page: `name` is its path without the suffix, `group` the heading it is listed under."""

    name: str
    title: str
    group: str
    html: Markup
    headings: tuple[DocsHeading, ...]
    sections: tuple[DocsSection, ...]


class Documentation:
    """Every page, in the order of the navigation.

    `href` gives the URL of a page or a file by its path in `docs/`, without the suffix `.md`.
    """

    def __init__(self, page_href: Callable[[str], Href]) -> None:
        self._folder = docs_folder()
        listed = list(_listed(yaml.safe_load(_navigation())))
        self.pages = {
            name: self._page(name, title, group, page_href(name)) for group, title, name in listed
        }

    def groups(self) -> list[tuple[str, list[DocsPage]]]:
        """The pages under their headings; the first are under none."""
        found: dict[str, list[DocsPage]] = {}
        for page in self.pages.values():
            found.setdefault(page.group, []).append(page)
        return list(found.items())

    def neighbours(self, name: str) -> tuple[DocsPage | None, DocsPage | None]:
        """The page before and the page after."""
        names = list(self.pages)
        at = names.index(name)
        before = self.pages[names[at - 1]] if at else None
        after = self.pages[names[at + 1]] if at + 1 < len(names) else None
        return before, after

    def sections(self) -> Iterator[DocsSection]:
        """Every section of every page."""
        for page in self.pages.values():
            yield from page.sections

    def _page(self, name: str, title: str, group: str, href: Href) -> DocsPage:
        text = self._folder.joinpath(*f"{name}.md".split("/")).read_text("utf-8")
        tokens = parsed(COMMENT.sub("", text))
        headings = tuple(_headings(tokens))
        sections = tuple(_sections(name, title, tokens))

        def address(target: str) -> str:
            return _resolved(name, target, href)

        html = html_of(tokens, address, with_images=True)
        return DocsPage(
            name=name, title=title, group=group, html=html, headings=headings, sections=sections
        )


def docs_folder() -> Traversable:
    """The folder of the pages."""
    return PACKAGED if PACKAGED.is_dir() else CHECKOUT / "docs"


def images() -> dict[str, bytes]:
    """The images that pages show, by their path in the folder."""
    folder = docs_folder().joinpath("images")
    found = folder.iterdir() if folder.is_dir() else ()
    return {f"images/{each.name}": each.read_bytes() for each in found}


def _navigation() -> str:
    packaged = PACKAGED.joinpath("mkdocs.yml")
    file = packaged if packaged.is_file() else CHECKOUT / "mkdocs.yml"
    return file.read_text("utf-8")


def _listed(config: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for entry in config["nav"]:
        for title, target in entry.items():
            if isinstance(target, str):
                yield "", title, target.removesuffix(".md")
            else:
                yield from (
                    (title, name, path.removesuffix(".md"))
                    for each in target
                    for name, path in each.items()
                )


def _resolved(page: str, target: str, href: Href) -> str:
    """The URL of a link's target: a page, a file beside the pages, or an external site."""
    path, mark, anchor = target.partition("#")
    if ":" in path or not path:
        return target
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    return href(inside.removesuffix(".md")) + mark + anchor


def _headings(tokens: Sequence[Token]) -> Iterator[DocsHeading]:
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag in ("h2", "h3"):
            yield DocsHeading(
                level=int(token.tag[1]), anchor=str(token.attrs["id"]), text=plain(tokens[at + 1])
            )


def _sections(name: str, title: str, tokens: Sequence[Token]) -> Iterator[DocsSection]:
    anchor, heading, words = "", title, list[str]()
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag != "h1":
            yield _section(name, title, anchor, heading, words)
            anchor, heading, words = str(token.attrs["id"]), plain(tokens[at + 1]), []
        elif token.type == "inline" and tokens[at - 1].type != "heading_open":
            words.append(plain(token))
        elif token.type in ("fence", "code_block"):
            words.append(token.content)
    yield _section(name, title, anchor, heading, words)


def _section(page: str, title: str, anchor: str, heading: str, words: Sequence[str]) -> DocsSection:
    text = " ".join(" ".join(words).split())
    return DocsSection(page=page, title=title, anchor=anchor, heading=heading, text=text)
