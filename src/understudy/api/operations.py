"""The declaration of a route: role, audit name, idempotency, body limits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import SerializerFunctionWrapHandler, TypeAdapter, WrapSerializer
from starlette.responses import Response

from understudy.api.limits import MAX_BODY_BYTES
from understudy.core.principal import Principal, Role
from understudy.core.showable import showable
from understudy.core.strict_json import parse
from understudy.runtime.two_people import TwoApprovers

if TYPE_CHECKING:
    from understudy.daemon.services import Services

# Uploaded content must not run or load anything in a browser.
RAW_HEADERS: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# POST does the same as PUT on these paths; the operation id has this suffix.
POST_TWIN: Final = "_by_post"
_ATTRIBUTE: Final = "understudy_operation"
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def showable_answer(kind: Any) -> Any:
    """The type of an answer, serialized with values that JSON cannot carry replaced."""
    if isinstance(kind, type) and issubclass(kind, Response):
        return kind
    # A lambda, as pydantic would take the return type of a function for that of the answer.
    return Annotated[kind, WrapSerializer(lambda value, handler: _tree(kind, value, handler))]


def _tree(kind: Any, value: Any, handler: SerializerFunctionWrapHandler) -> Any:
    try:
        tree = handler(value)
    except ValueError:
        # Nested more deeply than pydantic follows when serializing to JSON.
        tree = TypeAdapter(kind).dump_python(value, by_alias=True)
    return showable(tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The declaration of an operation. As a decorator it stands below that of the route."""

    # None: no token is needed.
    role: Role | None
    # Whether connected agents may call it, whose role is below every other.
    by_client: bool = False
    # The audit action, if it is not the operation id.
    action: str | None = None
    # The body field with the resource id, if the path has none.
    body_id: str | None = None
    # Whether the service stores its own idempotency receipts.
    own_receipts: bool = False
    # Fields of the answer that must not be stored for retries.
    secret: tuple[str, ...] = ()
    # The subject of a required second approval, and whether this body needs it.
    two: TwoApprovers | None = None
    two_if: Callable[[Any], bool] = lambda _: True
    # The body that is approved and done: it names what a filter in the given one finds now.
    two_body: Callable[["Services", Any], Any] = lambda _, body: body
    # The fields of the form that the body is; JSON where there are none.
    form: frozenset[str] = frozenset()
    # The media types of a body that the route reads itself; JSON where there are none.
    media_types: frozenset[str] = frozenset()
    max_body_bytes: int = MAX_BODY_BYTES
    # Reads a JSON body; the default refuses what cannot be stored.
    parse: Callable[[bytes], Any] = parse
    # Whether the guard scans the content: such requests wait in their own queue.
    scans: bool = False

    def admit(self, principal: Principal) -> None:
        """Raise `Rejected` unless this caller may call the operation."""
        if not (self.by_client and principal.role is Role.CLIENT):
            principal.require(self.role or Role.VIEWER)

    def __call__(self, endpoint: Endpoint) -> Endpoint:
        """Attach the declaration to a route function, once."""
        if hasattr(endpoint, _ATTRIBUTE):
            raise TypeError(f"{endpoint.__qualname__} says twice who may call it")
        setattr(endpoint, _ATTRIBUTE, self)
        endpoint.__annotations__["return"] = showable_answer(endpoint.__annotations__["return"])
        return endpoint


anyone = partial(Operation, role=None)
client = partial(Operation, role=Role.OPERATOR, by_client=True)
reader = partial(Operation, role=Role.VIEWER, by_client=True)
viewer = partial(Operation, role=Role.VIEWER)
operator = partial(Operation, role=Role.OPERATOR)
admin = partial(Operation, role=Role.ADMIN)


def operation_of(endpoint: Callable[..., Any]) -> Operation:
    """The declaration of a route function; a route without one is an error."""
    declared = getattr(endpoint, _ATTRIBUTE, None)
    if not isinstance(declared, Operation):
        raise TypeError(f"{endpoint.__qualname__} does not say who may call it")
    return declared


def canonical(operation_id: str) -> str:
    """The operation id without the suffix of a POST twin."""
    return operation_id.removesuffix(POST_TWIN)
