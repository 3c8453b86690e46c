"""Visits: what a page knows of the request that asks for it."""

import pytest
from fastapi import FastAPI
from starlette.requests import Request

from understudy.access.tokens import TOKEN_ADMIN
from understudy.console.live import LivePlace
from understudy.console.surface import Surface
from understudy.console.visits import Visit
from understudy.sessions.journal import FeedPlace


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/sessions/a:b", "/sessions/a:b"),
        ("/sessions/a%25", "/sessions/a%2525"),
        ("/sessions/a?b#{c}", "/sessions/a%3Fb%23%7Bc%7D"),
    ],
)
def test_the_path_of_a_page_is_an_address_again(path: str, address: str) -> None:
    request = Request({"type": "http", "method": "GET", "path": path, "headers": []})

    visit = Visit(
        request=request,
        surface=Surface(FastAPI()),
        caller=TOKEN_ADMIN,
        language="en",
        since=LivePlace(FeedPlace(), 0),
    )

    assert visit.path == address
