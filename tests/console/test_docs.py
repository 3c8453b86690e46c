"""The documentation and the API reference: readable by anybody, every link leads somewhere."""

import html
import json
import posixpath
import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.support.browser import PHONE, assert_accessible, assert_fits, tab_of
from understudy.console.app import HEADERS
from understudy.console.documentation.api import ApiReference
from understudy.console.documentation.content import DocsSection
from understudy.console.documentation.routes import DocsRoutes
from understudy.console.documentation.search import MAX_RESULTS, DocsIndex
from understudy.console.documentation.site import write_site

# Another test compares it with the document that a daemon serves.
DOCUMENT = (Path(__file__).parents[2] / "docs" / "reference" / "openapi.json").read_bytes()
HREF = re.compile(r'(?:href|src)="([^"]+)"')
ID = re.compile(r' id="([^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The static site."""
    folder = tmp_path_factory.mktemp("site")
    write_site(folder, json.loads(DOCUMENT))
    return folder


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and says nothing about it."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
        """Say nothing."""


@pytest.fixture(scope="module")
def static_url(site: Path) -> Iterator[str]:
    """The static site behind a plain file server."""
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def docs() -> Iterator[TestClient]:
    """The pages of a daemon, without the daemon."""
    app = Starlette(routes=DocsRoutes(lambda: DOCUMENT, HEADERS).routes())
    with TestClient(app) as client:
        yield client


def links(page: Path) -> list[str]:
    """The addresses in a page that lie in the site."""
    found = (html.unescape(each) for each in HREF.findall(page.read_text()))
    return [each for each in found if not re.match(r"[a-z]+:", each)]


def test_every_link_of_the_site_leads_to_a_page_and_to_its_heading(site: Path) -> None:
    anchors = {
        str(page.relative_to(site)): set(ID.findall(page.read_text()))
        for page in site.rglob("*.html")
    }
    lost = []
    for page in site.rglob("*.html"):
        own = str(page.relative_to(site))
        for link in links(page):
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(own), path or page.name))
            if not (site / target).is_file() or (anchor and anchor not in anchors[target]):
                lost.append((own, link))

    assert lost == []


def test_a_page_of_the_site_has_no_script_or_style_of_its_own(site: Path) -> None:
    pages = [page.read_text() for page in site.rglob("*.html")]

    assert [text for text in pages if re.search(r"<script>|<style| style=| on\w+=", text)] == []


def test_the_index_of_the_site_names_pages_and_operations(site: Path) -> None:
    entries = json.loads((site / "search.json").read_text())
    headings = {each["heading"] for each in entries}

    assert {"learnings.revoke", "Journal"} <= headings
    assert all((site / each["href"].partition("#")[0]).is_file() for each in entries)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/docs", "AI agents that learn on the job"),
        ("/docs/concepts/review", 'href="/docs/concepts/learning"'),
        ("/docs/howto/use-the-http-api", 'href="/openapi.json"'),
        ("/docs/search?q=revoke+learning", 'href="/openapi/learning#learnings.revoke"'),
        ("/openapi", 'href="/openapi/runs#runs.submit"'),
        ("/openapi/runs", "/v1/sessions/{session_id}/runs"),
        ("/openapi/records/Problem", "<td><code>code</code>"),
    ],
)
def test_a_page_says_what_it_is_about(docs: TestClient, path: str, words: str) -> None:
    answer = docs.get(path)

    assert answer.status_code == 200
    assert words in answer.text
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_the_documentation_is_read_without_signing_in(guarded: TestClient) -> None:
    assert guarded.get("/docs").status_code == 200
    assert guarded.get("/docs/concepts/review").status_code == 200


@pytest.mark.parametrize(
    "path", ["/docs/nowhere", "/docs/../pyproject.toml", "/openapi/nowhere", "/openapi/records/No"]
)
def test_a_page_that_does_not_exist_is_not_found(docs: TestClient, path: str) -> None:
    assert docs.get(path).status_code == 404


def test_a_page_is_found_under_the_name_of_its_file(docs: TestClient) -> None:
    moved = docs.get("/docs/howto/console.md", follow_redirects=False)
    assert (moved.status_code, moved.headers["location"]) == (308, "/docs/howto/console")
    assert docs.get("/docs/howto/nowhere.md").status_code == 404


def test_a_query_is_shown_as_text(docs: TestClient) -> None:
    answer = docs.get("/docs/search", params={"q": '"><script>x</script>' + "y" * 9_999})

    assert answer.status_code == 200
    assert "<script>x" not in answer.text
    assert "y" * 300 not in answer.text


def test_every_operation_is_in_the_reference_with_a_command() -> None:
    document = json.loads(DOCUMENT)
    operations = [each for tag in ApiReference(document).tags.values() for each in tag]
    bodies = [each.body.example for each in operations if each.body and each.body.example]

    assert len(operations) == sum(len(path) for path in document["paths"].values())
    assert all(each.curl.startswith("curl") for each in operations)
    assert all(isinstance(json.loads(body), dict) for body in bodies)
    assert '"version"' not in next(
        each.body.example
        for each in operations
        if each.name == "agents.update" and each.body is not None
    )


def section(heading: str, text: str = "", title: str = "Page") -> DocsSection:
    return DocsSection(page="page", title=title, anchor="", heading=heading, text=text)


def test_a_search_wants_every_word_and_puts_headings_first() -> None:
    index = DocsIndex(
        [
            section("Other", "how to revoke a learning"),
            section("Revoke", "takes a learning back"),
            section("Revoke", "takes a token back"),
        ]
    )

    assert [each.section.heading for each in index.search("REVOKE learning")] == ["Revoke", "Other"]
    assert index.search("revoke nothing") == []
    assert index.search("  ") == []


def test_a_search_shows_so_many_results_and_the_words_around() -> None:
    index = DocsIndex([section("Long", "before " * 100 + "needle" + " after" * 100)] * 99)
    found = index.search("needle")

    assert len(found) == MAX_RESULTS
    assert found[0].excerpt.startswith("… ")
    assert "needle" in found[0].excerpt


@pytest.mark.parametrize(
    "path",
    [
        "/index.html",
        "/howto/skills.html",
        "/search.html?q=revoke",
        "/openapi/runs.html",
        "/openapi/records/RunView.html",
    ],
)
def test_a_page_is_accessible_and_fits_a_phone(
    browser: Browser, static_url: str, path: str
) -> None:
    with tab_of(browser, static_url, viewport=PHONE) as page:
        page.goto(path)
        assert_fits(page)
        assert_accessible(page)


def test_a_search_begins_with_a_key_and_leads_to_a_heading(
    browser: Browser, static_url: str
) -> None:
    with tab_of(browser, static_url) as page:
        page.goto("/concepts/review.html")
        page.keyboard.press("/")
        page.keyboard.type("revoke and roll back")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="Revoke and roll back").click()

        expect(page.locator("#revoke-and-roll-back")).to_be_in_viewport()
        assert page.url.endswith("/concepts/rollout.html#revoke-and-roll-back")
