"""HTML as text that can be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_effort import takes_under
from understudy.tools.response_bodies import readable

PAGE = """<!DOCTYPE html>
<html><head><title>Ink &amp; paper</title>
<style>p { color: red }</style><script>if (a < b) { alert("<p>no</p>") }</script></head>
<body onload="x > y"><!-- not <p>this</p> -->
<h1>On   ink</h1><p>First <b>line</b>,
still the first.</p><p>Second&nbsp;line: 1 < 2</p>
<ul><li>one<li><a href="/two?a=1&amp;b=2">two</a> <a href='#top'>up</a></ul>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<noscript>enable it</noscript><img alt="x>y"><svg><text>drawn</text></svg>
</body></html>"""


def test_a_page_becomes_lines_of_text() -> None:
    assert readable(PAGE).splitlines() == [
        "Ink & paper",
        "On ink",
        "First line, still the first.",
        "Second line: 1 < 2",
        "- one",
        "- two </two?a=1&b=2> up",
        "a | b |",
        "1 | 2 |",
    ]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("", ""),
        ("plain", "plain"),
        ("a <!-- never closed <p>b", "a"),
        ("a <script>never closed", "a"),
        ("a <p class='never closed", "a"),
        ("a<script>x</script foo>b", "ab"),
        ("a<SCRIPT>x</ScRiPt>b", "ab"),
        ("a<script/>b", "ab"),
        ("<p don't>b", "b"),
        ("<a href=javascript:x>b</a>", "b"),
        ('<a href="data:x">b</a>', "b"),
        ("<a href='x\ny'>b</a>", "b"),
        ("<a href=x>b<a href=y>c</a>", "b <x>c <y>"),
        ("a<br>b<hr/>c", "a\nb\nc"),
        ("&lt;b&gt; &#65; &bogus; &#" + "9" * 5000 + ";", None),
        ("a < b <3 <", "a < b <3 <"),
    ],
)
def test_odd_pages_are_read_as_far_as_they_go(page: str, text: str | None) -> None:
    result = readable(page)
    assert text is None or result == text


@pytest.mark.parametrize(
    "piece",
    ["<", "<!--", "<a '>'", '<a ="', "<a href='", "</script", "<script>", "<a =", "&amp", "<p><a>"],
)
def test_no_page_takes_longer_than_it_is_long(piece: str) -> None:
    page = piece * (512 * 1024 // len(piece))
    assert takes_under(4, lambda: readable(page))


@given(st.text(alphabet="<>/!-ap =\"'&#;1 \n", max_size=200))
def test_whatever_it_is_it_is_read(page: str) -> None:
    assert len(readable(page)) <= 12 * len(page) + 10
