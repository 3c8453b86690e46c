"""The documentation site: every page rendered, for the daemon and as static files."""

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from understudy.console.documentation.api import FOLDER, ApiReference, slug, title_of
from understudy.console.documentation.content import (
    START,
    DocsPage,
    Documentation,
    Href,
    images,
)
from understudy.console.markdown import rendered_line
from understudy.console.rendering import ASSETS, asset_path, render_now

SEARCH: Final = "search"
DOCUMENT: Final = "reference/openapi.json"
RECORDS: Final = f"{FOLDER}/records"
SCRIPT: Final = files("understudy.console.documentation").joinpath("search.js")


class DocsSite:
    """The pages with their URLs; `href_from` gives the URLs that a page links to."""

    def __init__(self, href_from: Callable[[str], Href], *, is_static: bool = False) -> None:
        self._href_from = href_from
        self._is_static = is_static
        self.documentation = Documentation(href_from)

    def page(self, page: DocsPage, language: str) -> str:
        """A page of `docs/`."""
        before, after = self.documentation.neighbours(page.name)
        return self._render(
            "docs/page.html", page.name, language, page=page, before=before, after=after
        )

    def search(self, language: str, **values: Any) -> str:
        """The page of search results."""
        return self._render("docs/search.html", SEARCH, language, **values)

    def operations(self, reference: ApiReference, language: str) -> str:
        """Every operation under its tag, in one table each."""
        return self._render("docs/openapi.html", FOLDER, language, tags=reference.tags)

    def tag(self, reference: ApiReference, name: str, language: str) -> str | None:
        """The operations of a tag; `name` is its part of the URL."""
        for tag, operations in reference.tags.items():
            if slug(tag) == name:
                return self._render(
                    "docs/openapi_tag.html",
                    f"{FOLDER}/{name}",
                    language,
                    tag=tag,
                    operations=operations,
                    records=frozenset(reference.record_names()),
                )
        return None

    def record(self, reference: ApiReference, name: str, language: str) -> str | None:
        """A record that operations take or answer."""
        record = reference.record(name)
        if record is None:
            return None
        return self._render(
            "docs/openapi_record.html",
            f"{RECORDS}/{name}",
            language,
            record=record,
            records=frozenset(reference.record_names()),
        )

    def _render(self, template: str, name: str, language: str, **values: Any) -> str:
        href = self._href_from(name)
        values |= {
            "name": name,
            "groups": self.documentation.groups(),
            "href": href,
            "slug": slug,
            "title_of": title_of,
            "line": rendered_line,
            "is_static": self._is_static,
            "asset": (lambda each: href(f"assets/{each}")) if self._is_static else asset_path,
        }
        return render_now(template, None, language, values)


def in_daemon(_: str) -> Href:
    """URLs in a daemon, which are the same from every page."""

    def href(target: str) -> str:
        if target == DOCUMENT:
            return "/openapi.json"
        if target == FOLDER or target.startswith(f"{FOLDER}/"):
            return f"/{target}"
        return "/docs" if target == START else f"/docs/{target}"

    return href


def in_files(page: str) -> Href:
    """Relative URLs from one page of a static site, which may lie anywhere."""

    @cache
    def href(target: str) -> str:
        is_file = posixpath.splitext(target)[1] != ""
        path = target if is_file else f"{target}.html"
        return posixpath.relpath(path, posixpath.dirname(page) or ".")

    return href


def write_site(folder: Path, document: Mapping[str, Any]) -> int:
    """Write the static site, and return its number of pages."""
    site = DocsSite(in_files, is_static=True)
    pages = _pages(site, ApiReference(document))
    for name, html in pages.items():
        _write(folder / f"{name}.html", html.encode())
    for name, content in _files(site, document):
        _write(folder / name, content)
    return len(pages)


def _pages(site: DocsSite, reference: ApiReference) -> dict[str, str]:
    made = {name: site.page(page, "en") for name, page in site.documentation.pages.items()}
    made[SEARCH] = site.search("en", query="", results=[])
    made[FOLDER] = site.operations(reference, "en")
    for tag in reference.tags:
        made[f"{FOLDER}/{slug(tag)}"] = site.tag(reference, slug(tag), "en") or ""
    for name in reference.record_names():
        made[f"{RECORDS}/{name}"] = site.record(reference, name, "en") or ""
    return made


def _files(site: DocsSite, document: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    yield from images().items()
    for name in ("console.css", "console.js", "icon.svg"):
        yield f"assets/{name}", ASSETS[name].content
    yield "assets/search.js", SCRIPT.read_bytes()
    yield DOCUMENT, json.dumps(document, ensure_ascii=False).encode()
    sections = [*site.documentation.sections(), *ApiReference(document).sections()]
    href = in_files(SEARCH)
    index = [
        {
            "href": href(each.page) + (f"#{each.anchor}" if each.anchor else ""),
            "title": each.title,
            "heading": each.heading,
            "text": each.text,
        }
        for each in sections
    ]
    yield "search.json", json.dumps(index, ensure_ascii=False).encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
