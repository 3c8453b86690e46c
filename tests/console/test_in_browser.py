"""What holds for every page in a browser: no errors, accessible, fits a phone and a zoom."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import PHONE, assert_accessible, assert_fits, tab_of
from tests.support.daemon import DaemonProcess
from understudy.console.site_map import PAGES

LISTS = sorted({page.path for page in PAGES if "{" not in page.path})
# A desk at 200 % has half the pixels.
ZOOMED = {"width": 720, "height": 450}


def test_every_list_is_accessible_in_both_themes(tab: Page) -> None:
    for path in LISTS:
        tab.goto(path)
        assert_accessible(tab)


@pytest.mark.parametrize("viewport", [PHONE, ZOOMED], ids=["phone", "zoomed"])
def test_every_list_fits(browser: Browser, live: DaemonProcess, viewport: dict[str, int]) -> None:
    with tab_of(browser, live.url, viewport=viewport) as tab:
        for path in LISTS:
            tab.goto(path)
            assert_fits(tab)


def test_the_navigation_opens_on_a_phone(browser: Browser, live: DaemonProcess) -> None:
    with tab_of(browser, live.url, viewport=PHONE) as tab:
        tab.goto("/overview")
        tab.get_by_role("button", name="Menu").click()
        tab.get_by_role("link", name="Runs", exact=True).click()
        expect(tab).to_have_url(f"{live.url}/runs")


def test_the_theme_is_chosen_and_kept(tab: Page) -> None:
    tab.emulate_media(color_scheme="light")
    tab.goto("/overview")
    tab.get_by_role("button", name="Light or dark").click()
    tab.goto("/runs")
    expect(tab.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_first_tab_stop_leads_past_the_navigation(tab: Page) -> None:
    tab.goto("/runs")
    tab.keyboard.press("Tab")
    expect(tab.locator(".skip")).to_be_focused()
    tab.keyboard.press("Enter")
    expect(tab.locator("#main")).to_be_focused()


def test_the_offer_of_the_sample_is_declined_for_good(tab: Page, live: DaemonProcess) -> None:
    live.post("/v1/sessions", {"session_id": "mine"})
    live.post("/v1/sessions/mine/runs", {"content": "hello"})
    tab.goto("/overview")
    tab.get_by_role("button", name="No, thanks").click()
    expect(tab.get_by_role("button", name="Load the sample workspace")).to_be_hidden()

    tab.reload()
    expect(tab.get_by_role("button", name="Load the sample workspace")).to_be_hidden()
