"""The routes of the console: pages, form actions, sign-in, static files, live signals."""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from understudy.access.sign_in import COOKIE, COOKIE_S
from understudy.api.app import answer_error
from understudy.api.gate import identify
from understudy.api.in_process import OperationRefused
from understudy.api.problems import refusal_of
from understudy.api.services import open_streams_of, services_of
from understudy.api.sse import stream_response
from understudy.console.documentation.routes import DocsRoutes
from understudy.console.forms import body_of
from understudy.console.live import LivePlace, newest_place, signals
from understudy.console.page import ConsolePage
from understudy.console.pages.review import ReviewWatch
from understudy.console.rendering import ASSETS, render
from understudy.console.site_map import PAGES
from understudy.console.surface import Surface
from understudy.console.visits import (
    LANGUAGE,
    Visit,
    caller_of,
    is_stranger,
    language_of,
    refuse_foreign_host_on_loopback,
    require_same_site,
)
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.principal import Principal
from understudy.core.visibility import current_visibility, visibility_of
from understudy.i18n.catalogue import say
from understudy.i18n.locales import spoken_in
from understudy.wire.problem import MEDIA_TYPE

if TYPE_CHECKING:
    from understudy.daemon.services import Services

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        " img-src 'self' data:; font-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    # With `no-referrer`, a form has `Origin: null`, and the same-site check needs the origin.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
FOREVER: Final = "public, max-age=31536000, immutable"
# Failed sign-ins per minute from one client address.
MAX_SIGN_INS: Final = 20
# Twice the largest SKILL.md, percent-encoded (3 bytes each): an edit sends the old and new text.
MAX_FORM_BYTES: Final = 640 * 1024
# Characters that stay as they are in `HX-Location`; all others are percent-encoded.
LOCATION_SAFE: Final = "/?&=%:@!$'()*+,;~"
# A placeholder in a redirect path, filled from a field of the operation's answer.
IN_BRACES: Final = re.compile(r"\{(\w+)\}")
# Background requests of pages, which no user action causes.
UNASKED: Final = ("/live", "/waiting")
NOT_FOUND: Final = 404
# Before the path of a page: its JSON twin. A suffix could be the end of an id.
TWINS: Final = "/json"
Handler = Callable[[Request], Awaitable[Response]]


def mount(app: FastAPI, surface: Surface | None = None) -> None:
    """Have an app serve the console at `/`."""
    console = Console(surface or Surface(app))
    app.state.review_watch = ReviewWatch()
    documentation = DocsRoutes(app.state.document.text, HEADERS)
    app.router.routes.extend([*documentation.routes(), *console.routes()])
    app.add_exception_handler(HTTPException, console.answer_error)


class Console:
    """The console over the operations of one app."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface

    def routes(self) -> list[Route]:
        """Every route of the console; none of them is in the API description."""
        return [
            Route("/static/{digest}/{path:path}", self.asset, methods=["GET"]),
            Route("/signin", self.sign_in_page, methods=["GET"]),
            Route("/signin", self.sign_in, methods=["POST"]),
            Route("/signin/{secret}", self.use_link, methods=["GET", "POST"]),
            Route("/signout", self.sign_out, methods=["POST"]),
            Route("/live", self._guarded(self.live), methods=["GET"]),
            Route("/waiting", self._guarded(self.waiting), methods=["GET"]),
            Route("/language", self.choose_language, methods=["POST"]),
            Route("/act/{operation}", self._guarded(self.act), methods=["POST"]),
            *(
                Route(each.path, self._guarded(self._page(each)), methods=each.methods)
                for each in PAGES
            ),
            *(
                Route(TWINS + each.path, self._guarded(self._twin(each), as_json=True))
                for each in PAGES
            ),
        ]

    def _page(self, page: ConsolePage) -> Callable[[Visit], Awaitable[Response]]:
        async def answer(visit: Visit) -> Response:
            if visit.request.method == "POST":
                visit = replace(visit, form=await _form(visit.request))
            found = await page.load(visit)
            if isinstance(found, str):
                return RedirectResponse(found, status_code=303)
            # A page that has nothing to show yet has another operation.
            operation = found.pop("twin_operation", page.twin)
            twin = self._surface.twin_of(operation, found.pop("twin", visit.query))
            status = found.pop("http_status", 200)
            html = await render(page.template, visit, page=page, twin=twin, **found)
            return _html(html, status=status)

        return answer

    def _twin(self, page: ConsolePage) -> Callable[[Visit], Awaitable[Response]]:
        """The JSON twin of a page: the answer of every operation that the page shows."""

        async def answer(visit: Visit) -> Response:
            found = await page.load(visit)
            if isinstance(found, str):
                return RedirectResponse(TWINS + found, status_code=303)
            calls = [
                {
                    "operation": each["operation"],
                    "url": self._surface.twin_of(each["operation"], each["values"]),
                    "answer": each["answer"],
                }
                for each in visit.calls
            ]
            status = found.get("http_status", 200)
            return JSONResponse({"page": page.name, "calls": calls}, status, headers=HEADERS)

        return answer

    def _guarded(
        self, handle: Callable[[Visit], Awaitable[Response]], *, as_json: bool = False
    ) -> Handler:
        """A handler that authenticates: strangers are redirected to sign-in, errors are pages.

        With `as_json` both are problem documents, and a token opens it as it does the API.
        """

        async def answer(request: Request) -> Response:
            services = services_of(request)
            try:
                find = identify if as_json else caller_of
                caller, since = await run_in_threadpool(_arrived, request, services, find)
            except UnderstudyError as error:
                if as_json or not is_stranger(error):
                    raise
                return _to_sign_in(request)
            current_visibility.set(visibility_of(caller, services.resources.settings.isolation))
            visit = Visit(
                request=request,
                surface=self._surface,
                caller=caller,
                language=language_of(request, caller),
                since=since,
            )
            try:
                return await handle(visit)
            except OperationRefused as refused:
                if as_json:
                    return JSONResponse(refused.problem, refused.status, media_type=MEDIA_TYPE)
                return await _problem(visit, refused.status, refused.problem)
            except UnderstudyError as error:
                if as_json:
                    raise
                refusal = refusal_of(error).spoken(request.scope)
                return await _problem(visit, refusal.status, {"detail": refusal.detail})

        return answer

    async def answer_error(self, request: Request, error: Exception) -> Response:
        """Answer an HTTP error: a browser that opens an unknown path gets a page, not JSON."""
        is_missing = isinstance(error, HTTPException) and error.status_code == NOT_FOUND
        try:
            if is_missing and _wants_page(request):
                return await self._guarded(self._missing)(request)
        except UnderstudyError as refused:
            # An error raised in an exception handler reaches no other exception handler.
            error = refused
        return await answer_error(request, error)

    async def _missing(self, visit: Visit) -> Response:
        words = {key: say(visit.language, f"console.missing.{key}") for key in ("title", "detail")}
        return await _problem(visit, NOT_FOUND, words)

    async def act(self, visit: Visit) -> Response:
        """Call an operation with the fields of a form, then redirect to the form's `_to`.

        An upload is forwarded unparsed, with `_to` in the query. An answer with a secret that is
        shown only once, such as a token, is rendered as a page first.
        """
        operation = self._surface.changing(visit.request.path_params["operation"])
        if self._surface.takes_form(operation):
            to, answer = visit.query.get("_to", ""), await visit.forward(operation)
        else:
            form = await _form(visit.request)
            to = form.pop("_to", "")
            fields = await run_in_threadpool(self._surface.fields, operation)
            ids = {name: form[name] for name in self._surface.ids_of(operation) if name in form}
            answer = await visit.call(operation, body=body_of(form, fields), **ids)
        # Check the path again once it is filled: a field that the answer lacks may leave `//`.
        to = local_path(_filled(local_path(to) or "/", answer)) or "/"
        secrets = self._surface.secrets_of(operation)
        if secrets:
            page = _html(await render("answer.html", visit, answer=answer, secrets=secrets, to=to))
            if "token" in secrets and not visit.is_signed_in:
                # The first token closes an open daemon; its creator stays signed in by cookie.
                made = services_of(visit.request).sign_in.cookie
                _keep(visit.request, page, await run_in_threadpool(made, answer["token"]))
            return page
        return _go(visit, to)

    async def live(self, visit: Visit) -> Response:
        """Stream the signals of changes (server-sent events) while the page is open."""
        services = services_of(visit.request)
        request = visit.request
        since = request.headers.get("last-event-id") or request.query_params.get("since", "")
        answer = stream_response(signals(services, since))
        admit = partial(caller_of, visit.request, services)
        open_streams_of(visit.request).watch(
            answer,
            visit.caller.user_id,
            admit,
            caller=("console", request.headers.get("cookie"), request.headers.get("host")),
        )
        return answer

    async def waiting(self, visit: Visit) -> Response:
        """The number of inbox items that wait for a person, for the navigation."""
        inbox = await visit.call("inbox.list", limit=1)
        return _html(await render("waiting.html", visit, number=sum(inbox["counts"].values())))

    async def asset(self, request: Request) -> Response:
        """A static file, cached for ever under the digest of its content."""
        found = ASSETS.get(request.path_params["path"])
        if found is None or found.digest != request.path_params["digest"]:
            raise HTTPException(404)
        return Response(
            found.content, media_type=found.media_type, headers={"Cache-Control": FOREVER}
        )

    async def sign_in(self, request: Request) -> Response:
        """Exchange a token for a sign-in cookie."""
        services = services_of(request)
        refuse_foreign_host_on_loopback(request, services)
        require_same_site(request.headers)
        form = await _form(request)
        strangers = services.tokens.strangers
        # A rate-limit key of its own: failed API calls must not lock anybody out of the console.
        address = f"sign-in of {request.client.host if request.client else 'somebody'}"
        try:
            cookie = await run_in_threadpool(services.sign_in.cookie, form.get("token", "").strip())
        except UnderstudyError as error:
            # A right token is never locked out by the wrong ones before it.
            strangers.refused(address)
            is_many = strangers.number(address) > MAX_SIGN_INS
            told = coded_error("auth/too_many_sign_ins") if is_many else error
            return await self.sign_in_page(request, refusal_of(told).spoken(request.scope).detail)
        return _signed_in(request, cookie, local_path(form.get("to", "")) or "/")

    async def use_link(self, request: Request) -> Response:
        """Ask whom a sign-in link signs in; the button of that page, a POST, uses it up.

        So neither a preview nor a page of another site can use a link or replace a sign-in.
        """
        services = services_of(request)
        refuse_foreign_host_on_loopback(request, services)
        sign_in, secret = services.sign_in, request.path_params["secret"]
        if request.method == "POST":
            require_same_site(request.headers)
            cookie = await run_in_threadpool(sign_in.use_link, secret)
            if cookie is not None:
                return _signed_in(request, cookie, "/")
        elif principal := await run_in_threadpool(sign_in.link_principal, secret):
            words = {"language": language_of(request, principal), "user": principal.user_id}
            return _html(await render("signin.html", None, **words, link=secret))
        error = coded_error("auth/unauthorized:sign_in_link")
        return await self.sign_in_page(request, refusal_of(error).spoken(request.scope).detail)

    async def sign_out(self, request: Request) -> Response:
        """End the sign-in cookie, here and in the browser."""
        require_same_site(request.headers)
        services_of(request).sign_in.sign_out(request.cookies.get(COOKIE, ""))
        answer = RedirectResponse("/signin", status_code=303)
        answer.delete_cookie(COOKIE)
        return answer

    async def choose_language(self, request: Request) -> Response:
        """Store the chosen language in a cookie."""
        require_same_site(request.headers)
        form = await _form(request)
        answer = RedirectResponse(local_path(form.get("to", "")) or "/", status_code=303)
        spoken = spoken_in(form.get("language", ""))
        if spoken is not None:
            answer.set_cookie(LANGUAGE, spoken, max_age=365 * 86_400, samesite="lax", httponly=True)
        return answer

    async def sign_in_page(self, request: Request, problem: str = "") -> Response:
        """The sign-in form; `problem` is the reason of a failed sign-in."""
        status = 401 if problem else 200
        to = local_path(request.query_params.get("to", "")) or "/"
        language = language_of(request, None)
        html = await render("signin.html", None, language=language, problem=problem, to=to)
        return _html(html, status=status)


def local_of(address: str) -> str | None:
    """The path and query of a full URL, such as `HX-Current-URL`."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return parts.path + (f"?{parts.query}" if parts.query else "")


def local_path(address: str) -> str | None:
    """The path and query of a URL on this daemon; None for one that leads elsewhere."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    leads_elsewhere = parts.scheme or parts.netloc or not parts.path.startswith("/")
    if leads_elsewhere or parts.path.startswith("//") or "\\" in address:
        return None
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _arrived(
    request: Request, services: "Services", find: Callable[[Request, "Services"], Principal]
) -> tuple[Principal, LivePlace]:
    """Who asks, and how far journals and audit are before a page reads anything."""
    return find(request, services), newest_place(services)


async def _form(request: Request) -> dict[str, str]:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise coded_error("api/payload_too_large", limit_bytes=MAX_FORM_BYTES)
    text = body.decode("utf-8", "replace")
    form: dict[str, str] = {}
    counts = Counter[str]()
    for name, value in parse_qsl(text, keep_blank_values=True):
        # A name that ends with `[]` is a list: each of its values is kept under an index.
        place = f"{name[:-2]}.{counts[name]}" if name.endswith("[]") else name
        # Browsers send line breaks as CRLF; stored texts have LF.
        form[place] = value.replace("\r\n", "\n")
        counts[name] += 1
    return form


def _wants_page(request: Request) -> bool:
    is_of_api = request.url.path == "/v1" or request.url.path.startswith("/v1/")
    return not is_of_api and "text/html" in request.headers.get("accept", "")


def _html(text: str, *, status: int = 200) -> HTMLResponse:
    return HTMLResponse(text, status_code=status, headers=HEADERS)


async def _problem(visit: Visit, status: int, problem: Any) -> Response:
    template = "problem_fragment.html" if visit.is_fragment else "problem.html"
    answer = _html(await render(template, visit, status=status, problem=problem), status=status)
    # Keep the URL of the page: that of an action cannot be reloaded.
    answer.headers["HX-Push-Url"] = "false"
    return answer


def _to_sign_in(request: Request) -> Response:
    if "hx-request" in request.headers:
        # Redirect the whole page to sign-in, never a fragment; background requests do not redirect.
        here = local_of(request.headers.get("hx-current-url", "")) or "/"
        is_asked = request.url.path not in UNASKED
        headers = {"HX-Redirect": f"/signin?to={quote(here)}"} if is_asked else {}
        return Response(status_code=401, headers=headers)
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/signin?to={quote(request.url.path + query)}", status_code=303)


def _signed_in(request: Request, cookie: str, to: str) -> Response:
    answer = RedirectResponse(to, status_code=303)
    _keep(request, answer, cookie)
    return answer


def _keep(request: Request, answer: Response, cookie: str) -> None:
    """Set the sign-in cookie."""
    answer.set_cookie(
        COOKIE,
        cookie,
        max_age=COOKIE_S,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def _filled(to: str, answer: object) -> str:
    """The redirect path with its placeholders filled from the answer: `/sessions/{session_id}`."""
    fields = answer if isinstance(answer, Mapping) else {}

    def value(found: re.Match[str]) -> str:
        return quote(str(fields.get(found[1], "")), safe="")

    return IN_BRACES.sub(value, to)


def _go(visit: Visit, to: str) -> Response:
    """Redirect after an action: by `HX-Location` for htmx, by status 303 for a browser."""
    if not visit.is_fragment:
        return RedirectResponse(to, status_code=303)
    # Swap only `#main`; the frame of the page stays.
    place = {"path": quote(to, safe=LOCATION_SAFE), "target": "#main", "select": "#main"}
    # Reloading the same page replaces its history entry instead of adding one.
    is_here = local_of(visit.request.headers.get("hx-current-url", "")) == to
    header = json.dumps({**place, "replace": "true"} if is_here else place)
    return Response(status_code=204, headers={"HX-Location": header})
