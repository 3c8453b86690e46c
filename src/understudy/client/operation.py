"""Operations of the HTTP API as methods: declared once, called with `Client` and `AsyncClient`."""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, wraps
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    overload,
)

from understudy.client.calls import HttpCall, Json, body_of, post, query_of, segment

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from understudy.client.transport import AsyncTransport, Transport

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
# The transport, which decides whether calls are awaited.
S = TypeVar("S", bound="Transport | AsyncTransport")


class Group(Generic[S]):
    """The operations on one kind of resource."""

    def __init__(self, transport: S) -> None:
        self.transport = transport


class Paging(TypedDict, total=False):
    """A page of a list: its size, and the `next_cursor` of the page before."""

    limit: int | None
    cursor: str | None


class PageOf(Protocol[T_co]):
    """One page of a list, and the cursor of the next."""

    @property
    def items(self) -> Sequence[T_co]: ...

    @property
    def next_cursor(self) -> str | None: ...


class ClientOperation(Generic[P, T_co]):
    """An operation as a class attribute; on an instance, the function that sends it."""

    def __init__(self, declared: Callable[..., Any], build: Callable[..., HttpCall[T_co]]) -> None:
        self.declared = declared
        self.build = build

    @overload
    def __get__(self, group: None, owner: type) -> Self: ...

    @overload
    def __get__(self, group: "Group[Transport]", owner: type) -> Callable[P, T_co]: ...

    @overload
    def __get__(
        self, group: "Group[AsyncTransport]", owner: type
    ) -> Callable[P, Coroutine[Any, Any, T_co]]: ...

    def __get__(self, group: Any, owner: type) -> Any:
        if group is None:
            return self

        @wraps(self.declared)
        def send(*arguments: P.args, **named: P.kwargs) -> Any:
            return group.transport.send(self.build(group, *arguments, **named), self)

        return send

    @cached_property
    def answer(self) -> str:
        """The annotated type of the answer."""
        annotation: str = self.declared.__annotations__["return"]
        is_built = annotation.startswith("HttpCall[")
        return annotation[len("HttpCall[") : -1] if is_built else annotation

    def read(self, answer: Json, *, is_light: bool = False) -> T_co:
        """An answer as the type that it is annotated with; of a file, its text or its bytes."""
        if is_light:
            from understudy.client.light import NotLight, read_light

            with suppress(NotLight):
                light: T_co = read_light(self.answer, answer)
                return light
        return self._adapter.validate_python(answer)

    @cached_property
    def _adapter(self) -> "TypeAdapter[T_co]":
        from pydantic import TypeAdapter

        from understudy.client.operations import ANSWERS

        modules = {name: module for module, names in ANSWERS.items() for name in names.split()}
        names: dict[str, Any] = {"Any": Any, "Mapping": Mapping} | {
            name: getattr(import_module(modules[name]), name)
            for name in re.findall(r"\w+", self.answer)
            if name in modules
        }
        return TypeAdapter(eval(self.answer, names))  # noqa: S307 - an annotation of our own


def _raw() -> "bytes":
    raise NotImplementedError


# For the answer of any operation as it was sent.
RAW: "Final[ClientOperation[[], bytes]]" = ClientOperation(_raw, lambda: post(""))


class Every(Generic[P, T_co]):
    """A paged list as one iterator, fetched lazily."""

    def __init__(self, page: ClientOperation[P, PageOf[T_co]]) -> None:
        self.page = page

    @overload
    def __get__(self, group: None, owner: type) -> Self: ...

    @overload
    def __get__(self, group: "Group[Transport]", owner: type) -> Callable[P, Iterator[T_co]]: ...

    @overload
    def __get__(
        self, group: "Group[AsyncTransport]", owner: type
    ) -> Callable[P, AsyncIterator[T_co]]: ...

    def __get__(self, group: Any, owner: type) -> Any:
        if group is None:
            return self
        page: Callable[..., Any] = self.page.__get__(group, owner)

        @wraps(self.page.declared)
        def pages(*arguments: Any, **named: Any) -> Any:
            first = named.pop("cursor", None)
            return group.transport.every(
                lambda cursor: page(*arguments, **named, cursor=cursor or first)
            )

        return pages


def every(page: ClientOperation[P, PageOf[T]]) -> Every[P, T]:
    """All items of a list, page by page; `limit` is the size of a page."""
    return Every(page)


def built(build: Callable[Concatenate[Any, P], HttpCall[T]]) -> ClientOperation[P, T]:
    """An operation whose call is built by a function."""
    return ClientOperation(build, build)


class HttpMethod:
    """Decorator for functions without a body, whose arguments define the request.

    Arguments named in the path go there, those of a GET or a DELETE into the query. For other
    methods `body` is the body; without it, the arguments are its fields.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(
        self, path: str, *, query: Mapping[str, str] | None = None
    ) -> Callable[[Callable[Concatenate[Any, P], T]], ClientOperation[P, T]]:
        """The operation at a path; `query` maps arguments to parameters with other names."""

        def decorate(declared: Callable[Concatenate[Any, P], T]) -> ClientOperation[P, T]:
            def build(*arguments: Any, **named: Any) -> HttpCall[T]:
                # Taken at the call: of all operations a process calls few.
                signature = inspect.signature(declared)
                _, *bound = signature.bind(*arguments, **named).arguments.items()
                return self._call(path, query or {}, dict(bound))

            return ClientOperation(declared, build)

        return decorate

    def _call(self, path: str, query: Mapping[str, str], sent: dict[str, Any]) -> HttpCall[Any]:
        sent |= sent.pop("page", {})
        ids = {name: segment(sent.pop(name)) for name in re.findall(r"{(\w+)}", path)}
        path = path.format_map(ids)
        asked = {parameter: sent.pop(name, None) for name, parameter in query.items()}
        if self.name in ("GET", "DELETE"):
            return HttpCall(method=self.name, path=path, query=query_of(**sent, **asked))
        key = sent.pop("key", None)
        body = body_of(sent.get("body", sent))
        if self.name == "POST":
            return post(path, body, query=query_of(**asked), key=key)
        return HttpCall(method=self.name, path=path, body=body)


# Not named as in HTTP libraries: `get` and `delete` are methods of most groups.
GET, POST, PUT, PATCH, DELETE = map(HttpMethod, ("GET", "POST", "PUT", "PATCH", "DELETE"))
