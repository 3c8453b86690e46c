"""The routes of the documentation and the API reference in a daemon; they need no sign-in."""

import json
import mimetypes
from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from understudy.console.documentation.api import FOLDER, ApiReference
from understudy.console.documentation.content import START, images
from understudy.console.documentation.search import MAX_QUERY_CHARS, DocsIndex
from understudy.console.documentation.site import SEARCH, DocsSite, in_daemon
from understudy.console.visits import language_of

# Pages change only with the version of the daemon.
CACHE: Final = "no-cache"


class DocsRoutes:
    """The routes; pages are rendered on first use."""

    def __init__(self, document: Callable[[], bytes], headers: dict[str, str]) -> None:
        self._document = document
        self._headers = {**headers, "Cache-Control": CACHE}
        self._lock = Lock()

    def routes(self) -> list[Route]:
        """Every route."""
        return [
            Route("/docs", self.page, methods=["GET"]),
            Route(f"/docs/{SEARCH}", self.search, methods=["GET"]),
            Route("/docs/{name:path}", self.page, methods=["GET"]),
            Route(f"/{FOLDER}", self.operations, methods=["GET"]),
            Route(f"/{FOLDER}/records/{{name}}", self.record, methods=["GET"]),
            Route(f"/{FOLDER}/{{name}}", self.tag, methods=["GET"]),
        ]

    async def page(self, request: Request) -> Response:
        """A page of the documentation, or an image."""
        name = request.path_params.get("name", START)
        site = await run_in_threadpool(self._made)
        if name in self._images:
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            return Response(self._images[name], media_type=kind, headers=self._headers)
        page = site.documentation.pages.get(name)
        if page is None and name.removesuffix(".md") in site.documentation.pages:
            return RedirectResponse(f"/docs/{name.removesuffix('.md')}", 308)
        if page is None:
            raise HTTPException(404)
        return self._html(await run_in_threadpool(site.page, page, language_of(request, None)))

    async def search(self, request: Request) -> Response:
        """The search results among the pages and the operations."""
        query = request.query_params.get("q", "")[:MAX_QUERY_CHARS]
        html = await run_in_threadpool(self._search, query, language_of(request, None))
        return self._html(html)

    async def operations(self, request: Request) -> Response:
        """Every operation of the API."""
        language = language_of(request, None)
        return self._html(
            await run_in_threadpool(lambda: self._made().operations(self._reference(), language))
        )

    async def tag(self, request: Request) -> Response:
        """The operations of a tag."""
        name, language = request.path_params["name"], language_of(request, None)
        return self._found(
            await run_in_threadpool(lambda: self._made().tag(self._reference(), name, language))
        )

    async def record(self, request: Request) -> Response:
        """A record of the API."""
        name, language = request.path_params["name"], language_of(request, None)
        return self._found(
            await run_in_threadpool(lambda: self._made().record(self._reference(), name, language))
        )

    def _found(self, html: str | None) -> Response:
        if html is None:
            raise HTTPException(404)
        return self._html(html)

    def _html(self, html: str) -> Response:
        return HTMLResponse(html, headers=self._headers)

    def _made(self) -> DocsSite:
        with self._lock:
            return self._site

    def _reference(self) -> ApiReference:
        # Parsed for each page, not cached: the tree takes many times the memory of the text.
        return ApiReference(json.loads(self._document()))

    def _search(self, query: str, language: str) -> str:
        with self._lock:
            site, index = self._site, self._index
        return site.search(language, query=query, results=index.search(query))

    @cached_property
    def _site(self) -> DocsSite:
        return DocsSite(in_daemon)

    @cached_property
    def _images(self) -> dict[str, bytes]:
        return images()

    @cached_property
    def _index(self) -> DocsIndex:
        sections = [*self._site.documentation.sections(), *self._reference().sections()]
        return DocsIndex(sections)
