"""The gate before every route: authentication, role, body validation, idempotency."""

import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Final, TypeVar, cast, get_args, get_origin

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from understudy.access.browsers import refuse_foreign_host, refuse_other_sites
from understudy.access.sign_in import COOKIE
from understudy.access.tokens import ACT_FOR, bearer_token
from understudy.api.idempotency import answer_once, claim_of
from understudy.api.limits import bounded
from understudy.api.masked_answers import masked_answer
from understudy.api.middleware import without_stream
from understudy.api.multipart import read_form
from understudy.api.operations import SAFE_METHODS, Operation, canonical, operation_of
from understudy.api.problems import OPENAI_PREFIX, ManyMistakes, language_of
from understudy.api.services import (
    Services,
    long_bodies_of,
    open_streams_of,
    scan_queue_of,
    services_of,
)
from understudy.api.two_people import with_second
from understudy.core.errors import coded_error
from understudy.core.mistakes import many_mistakes
from understudy.core.principal import Principal
from understudy.core.strict_json import check_text, parse
from understudy.core.visibility import current_visibility, visibility_of
from understudy.i18n.locales import DEFAULT, current_locale

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
# In the ASGI scope of an in-process call: the principal. No header can set it.
PRINCIPAL: Final = "understudy.principal"
MAX_PATH_ID_CHARS: Final = 500
# What a client of OpenAI sends that has no token: it cannot send nothing.
NO_KEY: Final = "none"
# A search query may be as long as the input of a run, a path as long as a skill file's.
MAX_CHARS: Final[Mapping[str, int]] = {"query": 16_000, "path": 2_000}


_BUILDING: Final = threading.RLock()
EVENT_STREAM: Final = "text/event-stream"
# A longer body is parsed in a thread, to keep the event loop free.
LONG_BODY_BYTES: Final = 16 * 1024
JSON_TYPES: Final = ("application/json",)


T = TypeVar("T")


async def _apart(request: Request, work: Callable[..., T], *of: Any) -> T:
    """Work on a long body in a thread, one body at a time.

    Parsers hold the interpreter while they run: several at once would keep the event loop waiting for
    all of them. Who waits for a turn waits here, and takes no thread.
    """
    async with long_bodies_of(request):
        return await run_in_threadpool(work, *of)


def media_type_of(request: Request) -> str:
    """The media type of a body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


class StrictRequest(Request):
    """A request whose JSON is parsed once, and validated."""

    # Set to that of the operation.
    read: Callable[[bytes], Any] = staticmethod(parse)

    async def json(self) -> Any:
        if not hasattr(self, "_strict"):
            body = await self.body()
            is_long = len(body) > LONG_BODY_BYTES
            read = self.read
            self._strict = await _apart(self, read, body) if is_long else read(body)
        return self._strict

    def take_body(self, body: Any) -> None:
        """Have the route read this instead of what was sent."""
        self._strict = self.state.body = body

    @property
    def has_json(self) -> bool:
        """Whether the content type of the body is JSON."""
        kind = media_type_of(self)
        return kind in JSON_TYPES or (kind.startswith("application/") and kind.endswith("+json"))


class GatedRoute(APIRoute):
    """A route behind the gate. Nothing of the body is read before the caller is known.

    FastAPI makes validators for every parameter, body and answer of a route. A daemon has hundreds
    of routes and uses few, so a route begins with what finds it, and gets the rest when it is asked
    for an attribute that is not there yet.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        # A route without a role fails at start, not at its first request.
        operation_of(endpoint)
        self.path = path
        self.endpoint = endpoint
        self.operation_id = options.get("operation_id")
        self.methods = {method.upper() for method in options.get("methods") or ("GET",)}
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self._left_to_build: dict[str, Any] | None = options

    def __getattr__(self, name: str) -> Any:
        # A document is written in a thread, beside requests that build their own routes.
        with _BUILDING:
            options = vars(self).get("_left_to_build")
            if options is not None:
                self._left_to_build = None
                super().__init__(self.path, self.endpoint, **options)
        return super().__getattribute__(name)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._left_to_build is not None:
            # Takes milliseconds, which everybody else on the event loop would wait for.
            await run_in_threadpool(getattr, self, "app")
        await super().handle(scope, receive, send)

    @property
    def operation(self) -> Operation:
        """The operation that the route declares: role, limits, audit name."""
        return operation_of(self.endpoint)

    @property
    def name_of_operation(self) -> str:
        """The operation id, without the suffix of a POST twin."""
        return canonical(self.operation_id or "")

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()
        operation, name = self.operation, self.name_of_operation
        single = _single_parameters(self)
        adapter = _BodyAdapter(self)

        async def handle(request: Request) -> Response:
            services = services_of(request)
            await _admit(request, services, operation)
            if not operation.scans:
                return await answered(request, services, nullcontext())
            queue = scan_queue_of(request)
            with queue.place(request.state.principal.user_id):
                return await answered(request, services, queue.turn())

        async def answered(
            request: Request, services: Services, turn: AbstractAsyncContextManager[None]
        ) -> Response:
            receive = bounded(request.scope, request.receive, operation.max_body_bytes)
            strict = StrictRequest(request.scope, receive)
            strict.read = operation.parse
            _check_address(strict, single)
            await _read_body(strict, operation)
            await _refuse_many_mistakes(strict, adapter)
            act = partial(with_second, strict, services, operation, name, partial(inner, strict))
            claim = claim_of(strict, operation, name)
            async with turn:
                if claim is None:
                    answer = without_stream(request.scope, await act())
                else:
                    answer = await answer_once(services, claim, act)
            answer = await masked_answer(strict, services, answer)
            if isinstance(answer, StreamingResponse) and answer.media_type == EVENT_STREAM:
                _watch(request, services, operation, answer)
            return answer

        return handle


def _watch(
    request: Request, services: Services, operation: Operation, answer: StreamingResponse
) -> None:
    """End a stream when its caller may no longer read it: token deleted, or role lowered."""

    def admit() -> None:
        operation.admit(identify(request, services))

    headers = request.headers
    credentials = (headers.get("authorization"), headers.get("cookie"), headers.get(ACT_FOR))
    open_streams_of(request).watch(
        answer,
        request.state.principal.user_id,
        admit,
        caller=(*credentials, headers.get("host"), operation.role),
    )


async def _admit(request: Request, services: Services, operation: Operation) -> None:
    """Authenticate the caller, check the role, and refuse new work during shutdown."""
    if operation.role is None:
        return
    # Looking a token up waits for the database; who calls from this process is known.
    if PRINCIPAL in request.scope:
        principal: Principal = request.scope[PRINCIPAL]
    else:
        principal = await run_in_threadpool(identify, request, services)
    request.state.principal = principal
    current_visibility.set(visibility_of(principal, services.resources.settings.isolation))
    current_locale.set(language_of(request.scope) or DEFAULT)
    operation.admit(principal)
    if request.method not in SAFE_METHODS:
        require_ready(services)


def identify(request: Request, services: Services) -> Principal:
    """The principal of a request, by token; without tokens the local user, never a web page.

    A browser that is signed in to the console may read.
    """
    if PRINCIPAL in request.scope:
        return cast("Principal", request.scope[PRINCIPAL])
    token = bearer_token(request.headers.get("authorization"))
    if token == NO_KEY and request.scope["path"].startswith(OPENAI_PREFIX):
        token = None
    cookie = request.cookies.get(COOKIE)
    if token is None and cookie and request.method in SAFE_METHODS:
        signed_in = services.sign_in.principal(cookie)
        if signed_in is not None:
            return signed_in
    if token is None and services.resources.settings.is_loopback:
        _refuse_web_pages(request)
    return services.tokens.authenticate(token, act_for=request.headers.get(ACT_FOR))


def _refuse_web_pages(request: Request) -> None:
    """Refuse DNS rebinding, and cross-site requests that change something (CSRF)."""
    refuse_foreign_host(request.headers)
    if request.method not in SAFE_METHODS:
        refuse_other_sites(request.headers)


def require_ready(services: Services) -> None:
    """Raise unless the daemon is ready."""
    reason = services.resources.readiness()
    if reason is not None:
        raise coded_error(f"readiness/daemon_{reason}")


def _single_parameters(route: APIRoute) -> frozenset[str]:
    """Query parameters that may occur once: a duplicate would be ambiguous."""
    return frozenset(name for name, kind in query_parameters(route.dependant) if not _is_list(kind))


def query_parameters(dependant: Dependant) -> Iterator[tuple[str, object]]:
    """The query parameters and their types, including those of dependencies."""
    for each in dependant.query_params:
        yield each.alias, each.field_info.annotation
    for part in dependant.dependencies:
        yield from query_parameters(part)


def _is_list(kind: object) -> bool:
    return any(get_origin(one) is list for one in (kind, *get_args(kind)))


def _check_address(request: Request, single: frozenset[str]) -> None:
    """Refuse repeated parameters, and ids and queries that could not be stored."""
    for name in single:
        if len(request.query_params.getlist(name)) > 1:
            raise coded_error("api/repeated_parameter", pointer=f"/{name}")
    for name, value in (*request.path_params.items(), *request.query_params.multi_items()):
        check_text(name, (name,))
        check_text(str(value), (name,))
        if len(str(value)) > MAX_CHARS.get(name, MAX_PATH_ID_CHARS):
            raise coded_error("api/value_too_long", pointer=f"/{name}")


@dataclass(slots=True)
class _BodyAdapter:
    """The lazily created validator of a route's body."""

    route: APIRoute
    _made: TypeAdapter[Any] | None = None

    def __call__(self) -> TypeAdapter[Any] | None:
        field = self.route.body_field
        if self._made is None and field is not None:
            kind: Any = field.field_info.annotation
            self._made = TypeAdapter(kind)
        return self._made


async def _refuse_many_mistakes(request: StrictRequest, made: _BodyAdapter) -> None:
    """Validate a long body in a thread, as FastAPI would block the event loop with many errors."""
    body = await request.body()
    adapter = made() if len(body) > LONG_BODY_BYTES and request.has_json else None
    if adapter is None or request.method in SAFE_METHODS:
        return
    found = await _apart(request, many_mistakes, adapter, request.state.body)
    if found is not None:
        count, first = found
        errors = [{**each, "loc": ("body", *each["loc"])} for each in first]
        raise ManyMistakes(errors, body=request.state.body, count=count)


async def _read_body(request: StrictRequest, operation: Operation) -> None:
    if request.method in SAFE_METHODS:
        return
    body = await request.body()
    if operation.media_types:
        if media_type_of(request) not in operation.media_types:
            named = ", ".join(sorted(operation.media_types))
            raise coded_error("api/unsupported_media_type:of", media_types=named)
        request.state.body = sha256(body).hexdigest()
    elif operation.form:
        kind = request.headers.get("content-type", "")
        form = await run_in_threadpool(read_form, kind, body, operation.form)
        request.state.form, request.state.body = form, form.digests
    elif body and not request.has_json:
        raise coded_error("api/unsupported_media_type")
    elif body:
        request.state.body = await request.json()
