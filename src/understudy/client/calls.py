"""One call to the daemon as data: what is sent, and how the answer is read."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from understudy.client.errors import InvalidCall

T = TypeVar("T")
Json = Any
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file in a form, with text beside it."""

    file_name: str
    content: bytes
    media_type: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def boundary(self) -> str:
        """What stands between the parts; the same file makes the same body, so it can be repeated."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """What is sent; `read` turns the JSON of the answer into what the caller gets."""

    method: str
    path: str
    read: Callable[[Json], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    upload: Upload | None = None
    idempotency_key: str | None = None

    @property
    def may_repeat(self) -> bool:
        """Whether sending it twice does no more than sending it once."""
        return self.method in SAFE_METHODS or self.idempotency_key is not None


def get(path: str, read: Callable[[Json], T], **query: str | int | bool | None) -> Call[T]:
    """A call that changes nothing; parts of the query that are None are left out."""
    return Call(method="GET", path=path, read=read, query=_query(query))


def post(
    path: str,
    read: Callable[[Json], T],
    body: Mapping[str, Any] | None = None,
    *,
    key: str | None = None,
) -> Call[T]:
    """A call that creates or acts; it carries a key, so that a repeat acts once."""
    return Call(
        method="POST",
        path=path,
        read=read,
        body=body or {},
        idempotency_key=key or _key(),
    )


def send_file(
    path: str, read: Callable[[Json], T], upload: Upload, *, key: str | None = None
) -> Call[T]:
    """A call that sends a file; it carries a key, so that a repeat acts once."""
    return Call(method="POST", path=path, read=read, upload=upload, idempotency_key=key or _key())


def put(path: str, read: Callable[[Json], T], body: Mapping[str, Any]) -> Call[T]:
    """A call that sets something."""
    return Call(method="PUT", path=path, read=read, body=body)


def patch(path: str, read: Callable[[Json], T], body: Mapping[str, Any]) -> Call[T]:
    """A call that changes parts of something."""
    return Call(method="PATCH", path=path, read=read, body=body)


def delete(path: str, read: Callable[[Json], T], **query: str | int | None) -> Call[T]:
    """A call that removes something; parts of the query that are None are left out."""
    return Call(method="DELETE", path=path, read=read, query=_query(query))


def at(*parts: str) -> str:
    """The path of a resource under `/v1`; ids may hold any character."""
    return "/v1/" + "/".join(_segment(part) for part in parts)


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _key() -> str:
    return f"sdk_{secrets.token_hex(16)}"


def _segment(part: str) -> str:
    if not part:
        raise InvalidCall("an id must not be empty")
    # A path of dots would be folded away on its way.
    return part.replace(".", "%2E") if part in (".", "..") else quote(part, safe="")


def _query(query: Mapping[str, str | int | bool | None]) -> dict[str, str | int]:
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }
