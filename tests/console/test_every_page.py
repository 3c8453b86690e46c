"""Every page of a full console: labels are words, and nothing is cut without a sign of it."""

import re
from collections.abc import Iterator
from html import unescape

import httpx2
import pytest
from playwright.sync_api import Browser

from tests.api.furniture import furniture
from tests.api.skill_users import Person
from tests.support.browser import PHONE, tab_of
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.openapi import committed_document
from understudy.console.site_map import PAGES
from understudy.i18n.terms import table

LINK = re.compile(r'<a [^>]*?href="(/[^"#]*)')
MAIN = re.compile(r"<main\b.*?</main>", re.DOTALL)
LABEL = re.compile(r"<(?:dt|th|label|legend)\b[^>]*>(.*?)</(?:dt|th|label|legend)>", re.DOTALL)
# What is meant to be read as a name: of a setting, a tool's argument or a file.
CODE = re.compile(r"<code\b.*?</code>|<input\b[^>]*>|<[^>]+>", re.DOTALL)
# One of each record that the sample does not have.
EACH = "/{session_id}/{persona_id}/{project_id}/{project_task_id}/{flow_id}/{schedule_id}"
ELSEWHERE = ("/docs", "/json", "/v1", "/openapi", "/static", "/signin")
NARROW_DESK = {"width": 1280, "height": 800}


def shape_of(path: str) -> str:
    """A page without the id of its record, so that each kind of page is visited once."""
    page, _, query = path.partition("?")
    page = re.sub(r"(?<=.)/(?!roots|trash|agreement)[^/]+", "/*", page)
    return page + "".join(re.findall(r"tab=\w+", query))


@pytest.fixture(scope="module")
def pages(live: DaemonProcess) -> list[str]:
    """One page of each kind, found by following the links of a console with the sample."""
    live.post("/v1/sample", {})
    live.post("/v1/channels", {"channel_id": "room", "title": "Room"})
    found: dict[str, str] = {}
    ahead = sorted({page.path for page in PAGES if "{" not in page.path})
    with live.client(timeout=60) as http:
        furniture(Person(http, {}), EACH)
        while ahead:
            path = ahead.pop(0)
            if shape_of(path) in found or path.startswith(ELSEWHERE):
                continue
            found[shape_of(path)] = path
            answer = http.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
            assert answer.status_code == 200, path
            ahead += [unescape(link) for link in LINK.findall("".join(MAIN.findall(answer.text)))]
    return list(found.values())


def labels_on(http: httpx2.Client, path: str, language: str) -> Iterator[str]:
    """The labels of a page, as a reader sees them."""
    headers = {"Accept": "text/html", "Accept-Language": language}
    page = http.get(path, headers=headers, follow_redirects=True).text
    for inner in LABEL.findall("".join(MAIN.findall(page))):
        yield " ".join(unescape(CODE.sub(" ", inner)).split())


def named_by_nobody(language: str) -> dict[str, str]:
    """What each field and word of the API would be called if no table named it."""
    known = table("terms", language)
    names = set(re.findall(r"'([a-z]+(?:_[a-z]+)+)': \{", str(committed_document())))
    names |= set(table("terms", "zh"))
    plain = {name.removesuffix("_at_ms").removesuffix("_ms") for name in names} | names
    return {
        name.replace("_", " "): name
        for name in plain
        if "_" in name and name not in known and not name.endswith("_id")
    }


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_no_label_is_the_raw_name_of_a_field(
    live: DaemonProcess, pages: list[str], language: str
) -> None:
    raw = named_by_nobody(language)
    with live.client(timeout=60) as http:
        shown = {label: path for path in pages for label in labels_on(http, path, language)}
    wrong = [label for label in shown if "_" in label or label in raw or label.endswith(" id")]
    assert wrong == []


def shown_on(live: DaemonProcess, pages: list[str], start: str) -> str:
    """The text of the page of this kind that the walk met."""
    path = next(path for path in pages if path.startswith(start))
    with live.client(timeout=60) as http:
        page = http.get(path, headers={"Accept": "text/html"}).text
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_an_approval_that_no_rule_asked_for_names_no_rule(
    live: DaemonProcess, pages: list[str]
) -> None:
    text = shown_on(live, pages, "/review/approval/")
    assert "Asked because no rule matches, and this tool needs approval by default" in text
    assert "Asked by a rule" not in text


def test_a_rollout_that_may_advance_says_what_its_proof_is(
    live: DaemonProcess, pages: list[str]
) -> None:
    text = shown_on(live, pages, "/rollouts/")
    assert "The conditions of the policy are met; a person decides. No run has executed" in text
    assert "It may repeat what strangers wrote: read the definition first." in text
    assert "stated by a person" in text


def test_a_candidate_that_waits_is_proposed_and_not_learned(live: DaemonProcess) -> None:
    live.post("/v1/sessions", {"session_id": "thoughts"})
    live.submit("thoughts", "Preference: I like short answers")
    asked = "/v1/learning-candidates?waiting=true&query=short+answers"
    wait_for(lambda: live.get(asked)["items"])
    text = shown_on(live, ["/sessions/thoughts"], "/sessions")
    assert "Proposed: I like short answers" in text
    assert "Learned:" not in text


# Parts that end outside the box they stand in, though the box does not say that more follows.
CUT = """() => {
    const boxes = [...document.querySelectorAll("body *")].filter((box) =>
        box.clientWidth && !box.closest("dialog, .hidden, svg") && getComputedStyle(box).overflowX !== "visible");
    const isCut = (box) => box.scrollWidth - box.clientWidth > 1 && box.innerText.trim();
    const says = (box) => box.matches(".more-right, .line, .clamp, .latest *, textarea, input, select");
    return boxes.filter((box) => isCut(box) && !says(box)).map((box) => box.outerHTML.slice(0, 120));
}"""
# State pills of which a reader sees only a part.
HALF = """() => [...document.querySelectorAll(".scroll .chip")].filter((chip) => {
    const [pill, box] = [chip, chip.closest(".scroll")].map((each) => each.getBoundingClientRect());
    return pill.width && pill.left < box.right && pill.right > box.right + 1;
}).map((chip) => chip.textContent)"""


@pytest.mark.parametrize("viewport", [NARROW_DESK, PHONE], ids=["desk", "phone"])
def test_what_is_cut_says_so_and_no_state_is_cut(
    browser: Browser, live: DaemonProcess, pages: list[str], viewport: dict[str, int]
) -> None:
    cut, half = {}, {}
    with tab_of(browser, live.url, viewport=viewport) as tab:
        for path in pages:
            tab.goto(path)
            # The marks are set in the frame after the page was laid out.
            tab.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
            cut[path], half[path] = tab.evaluate(CUT), tab.evaluate(HALF)
    assert {path: boxes for path, boxes in cut.items() if boxes} == {}
    assert {path: pills for path, pills in half.items() if pills} == {}


def test_a_desk_of_1280_pixels_shows_every_column(
    browser: Browser, live: DaemonProcess, pages: list[str]
) -> None:
    """Tables that are unfolded on arrival; a long list of tabs or a drawing may scroll."""
    wide = {}
    with tab_of(browser, live.url, viewport=NARROW_DESK) as tab:
        for path in pages:
            tab.goto(path)
            boxes = tab.locator(".scroll, .board").filter(visible=True)
            wide[path] = boxes.evaluate_all(
                "all => all.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.innerText)"
            )
    assert {path: boxes for path, boxes in wide.items() if boxes} == {}


def test_a_day_without_runs_has_no_bar_and_the_scale_covers_none(
    browser: Browser, live: DaemonProcess, pages: list[str]
) -> None:
    with tab_of(browser, live.url, viewport=NARROW_DESK) as tab:
        tab.goto("/overview")
        plot = tab.locator(".chart").first
        painted = plot.locator("rect").evaluate_all(
            "all => all.filter(bar => getComputedStyle(bar).fill !== 'rgba(0, 0, 0, 0)')"
            ".map(bar => bar.parentElement.querySelector('title').textContent)"
        )
        # The sample began today; every other day of the chart is empty.
        assert len(set(painted)) == 1
        scale, bars = plot.locator(".most").bounding_box(), plot.locator("svg").bounding_box()
    assert pages
    assert scale is not None
    assert bars is not None
    assert scale["y"] + scale["height"] <= bars["y"]
