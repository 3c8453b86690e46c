"""One call to the daemon as data."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeAlias, TypeVar
from urllib.parse import quote

from understudy.client.errors import InvalidCall

T_co = TypeVar("T_co", covariant=True)
Json = Any
QueryValue: TypeAlias = str | int | Sequence[str]
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FormUpload:
    """A file upload as a multipart form, with text fields."""

    file_name: str
    content: bytes
    media_type: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def boundary(self) -> str:
        """The multipart boundary; a hash of the content, so a retry sends the same body."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall(Generic[T_co]):
    """An HTTP request as data; a `POST` has an idempotency key, so a retry acts once."""

    method: str
    path: str
    query: Mapping[str, QueryValue] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    upload: FormUpload | None = None
    idempotency_key: str | None = None

    @property
    def may_repeat(self) -> bool:
        """Whether it is idempotent, so that a retry is safe."""
        return self.method in SAFE_METHODS or self.idempotency_key is not None


def post(
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    query: Mapping[str, QueryValue] | None = None,
    upload: FormUpload | None = None,
    key: str | None = None,
) -> HttpCall[Any]:
    """A POST call, with a generated idempotency key if none is given."""
    return HttpCall(
        method="POST",
        path=path,
        query=query or {},
        body=None if upload else body or {},
        upload=upload,
        idempotency_key=key or f"sdk_{secrets.token_hex(16)}",
    )


def at(*parts: str | int) -> str:
    """The path of a resource under `/v1`; ids may hold any character."""
    return "/v1/" + "/".join(segment(part) for part in parts)


def segment(part: object) -> str:
    """One path segment; an empty id would name another resource and is refused."""
    text = str(part)
    if not text:
        raise InvalidCall("an id must not be empty")
    # A segment of dots would be normalized away.
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="")


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def query_of(**values: object) -> dict[str, QueryValue]:
    """The query parameters that are not None; booleans as `true` and `false`."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in given(**values).items()
    }


def body_of(request: Any) -> dict[str, Any]:
    """The fields set in a request, as JSON; a string is short for `{"content": …}`."""
    if isinstance(request, str):
        return {"content": request}
    body: dict[str, Any] = _plain(given(**request) if isinstance(request, dict) else request)
    return body or {}


def _plain(value: Any) -> Any:
    # A Pydantic model, told by its method: importing Pydantic costs more than the call.
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value
