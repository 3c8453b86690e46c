"""Errors as problem details: one table from class to status, one shape for all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from sqlalchemy import exc as sql
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from understudy.core.audit import current_request_id
from understudy.core.errors import (
    NO_SPACE,
    Conflict,
    FieldError,
    Invalid,
    LimitExceeded,
    NotFound,
    Rejected,
    Unauthenticated,
    Unavailable,
    UnderstudyError,
    Unsafe,
    coded_error,
    error_class,
)
from understudy.core.mistakes import words_of
from understudy.core.pointer import pointer
from understudy.core.principal import Principal
from understudy.i18n.locales import DEFAULT, from_accept_language
from understudy.i18n.problems import told_in
from understudy.wire.problem import MEDIA_TYPE, TYPE_PREFIX, Problem

STATUS: Final[Mapping[type[UnderstudyError], int]] = {
    NotFound: 404,
    Conflict: 409,
    Rejected: 403,
    Unauthenticated: 401,
    Invalid: 400,
    Unsafe: 422,
    LimitExceeded: 413,
    Unavailable: 503,
    UnderstudyError: 500,
}
# Codes whose status differs from that of their class.
CODE_STATUS: Final[Mapping[str, int]] = {
    "body_too_slow": 408,
    "rate_limited": 429,
    "too_many_scans": 429,
    "too_many_sign_ins": 429,
    "too_many_streams": 429,
    "unsupported_media_type": 415,
}
HEADERS: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"WWW-Authenticate": 'Bearer realm="understudy"'},
    # The rest of the body is not read, so the connection cannot be reused.
    408: {"Connection": "close"},
    413: {"Connection": "close"},
    429: {"Retry-After": "5"},
    503: {"Retry-After": "1"},
}
# Driver codes of a lost race for a row, reported as a conflict; other constraint violations are
# internal errors.
RACED: Final = frozenset(
    {
        "SQLITE_CONSTRAINT_FOREIGNKEY",
        "SQLITE_CONSTRAINT_PRIMARYKEY",
        "SQLITE_CONSTRAINT_ROWID",
        "SQLITE_CONSTRAINT_UNIQUE",
        "23503",
        "23505",
        "23P01",
    }
)
HTTP_CODES: Final[Mapping[int, str]] = {
    400: "bad_request",
    404: "route_not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
}
# The spelling of words in titles.
SPELLED: Final[Mapping[str, str]] = {"mcp": "MCP", "url": "URL", "json": "JSON"}
# An invalid enum member is reported like an invalid literal.
SAME_MISTAKE: Final[Mapping[str, str]] = {"enum": "literal_error"}
OPENAI_PREFIX: Final = "/openai/"
A2A_PATH: Final = "/a2a"
# In JSON-RPC, what is no JSON; the rest is an invalid request.
RPC_CODES: Final[Mapping[str, int]] = {"malformed_json": -32700}
OPENAI_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "server_error",
}
# A client may send the same again.
AGAIN: Final = frozenset({408, 409, 429, 503})
INTERNAL: Final = "daemon/internal_error"
MAX_ERRORS: Final = 50
# The parameter that is a member of the problem itself.
NEIGHBOURS: Final = "neighbours"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemAnswer:
    """A problem document before it is sent."""

    status: int
    code: str
    domain: str
    detail: str
    errors: tuple[FieldError, ...] = ()
    params: Mapping[str, object] = field(default_factory=dict)
    # The row of the error table; foreign errors use their domain and code.
    row: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    # The language of the detail; all other fields are for programs.
    language: str = DEFAULT

    @property
    def reason(self) -> str:
        """The name in the API description and in the audit."""
        return f"{self.domain}/{self.code}"

    def spoken(self, scope: Scope) -> "ProblemAnswer":
        """The problem in the caller's preferred language, if the table has a translation."""
        told = told_in(language_of(scope), self.row or self.reason, self.detail, self.values)
        return replace(self, detail=told.text, language=told.language)

    def answer(self, scope: Scope) -> Response:
        """The HTTP response in the caller's language, and in the shape of the API that is called."""
        spoken = self.spoken(scope)
        if scope["path"] == A2A_PATH:
            told = {"code": RPC_CODES.get(self.code, -32600), "message": spoken.detail}
            rpc = {"jsonrpc": "2.0", "id": None, "error": told}
            return JSONResponse(rpc, self.status, {**HEADERS.get(self.status, {}), **self.headers})
        if not scope["path"].startswith(OPENAI_PREFIX):
            return spoken.response()
        answer = JSONResponse({"error": spoken.openai_error()}, self.status, dict(self.headers))
        answer.headers.update(HEADERS.get(self.status, {}))
        # Its client would submit the same again, also what has a run already.
        may_retry = self.status in AGAIN and "run_id" not in self.params
        answer.headers["x-should-retry"] = str(may_retry).lower()
        return answer

    def openai_error(self) -> dict[str, str | None]:
        """The error in the shape of OpenAI's API."""
        told = [f"{_dotted(it)}: {it.detail}" for it in self.errors if it.detail != self.detail]
        return {
            "message": "; ".join([self.detail, *told]),
            "type": OPENAI_TYPES.get(self.status, "invalid_request_error"),
            "param": _dotted(self.errors[0]) if self.errors else None,
            "code": self.code,
        }

    def response(self) -> Response:
        """The HTTP response."""
        problem = Problem.of(
            self,
            type=TYPE_PREFIX + self.code,
            title=_title(self.code),
            instance=current_request_id.get(),
            errors=[asdict(error) for error in self.errors] or None,
            params={name: it for name, it in self.params.items() if name != NEIGHBOURS} or None,
            neighbours=self.params.get(NEIGHBOURS),
        )
        return Response(
            problem.model_dump_json(),
            status_code=self.status,
            media_type=MEDIA_TYPE,
            headers={
                "Content-Language": self.language,
                "Vary": "Accept-Language",
                **HEADERS.get(self.status, {}),
                **self.headers,
            },
        )


def language_of(scope: Scope) -> str | None:
    """The preferred language: of the `Accept-Language` header, else of the token."""
    principal = scope.get("state", {}).get("principal")
    known = principal.locale if isinstance(principal, Principal) else None
    return from_accept_language(Headers(scope=scope).get("accept-language")) or known


def refusal_of(error: Exception) -> ProblemAnswer:
    """The problem for an exception; an unexpected one is an internal error without details."""
    match error:
        case UnderstudyError():
            return _domain(error)
        case RequestValidationError():
            return _validation(error)
        case HTTPException():
            return _http(error)
        case sql.OperationalError() | sql.InterfaceError() | sql.TimeoutError():
            return _domain(coded_error("storage/database_unavailable"))
        case sql.IntegrityError() if _is_raced(error):
            return _domain(coded_error("storage/conflict"))
        case sql.IntegrityError():
            return _domain(coded_error("storage/change_refused"))
        case sql.DataError():
            return _domain(coded_error("storage/bad_request"))
        case OSError() if error.errno in NO_SPACE:
            return _domain(coded_error("storage/disk_full"))
        case _:
            return _domain(coded_error(INTERNAL))


def status_of(error: UnderstudyError) -> int:
    """The status of an error: that of its code, or else of its class."""
    return _status(error.code, type(error))


def status_of_row(row: str) -> int:
    """The status of a row of the error table."""
    return _status(row.partition("/")[2].partition(":")[0], error_class(row))


def _status(code: str, raised: type[UnderstudyError]) -> int:
    return CODE_STATUS.get(code) or next(STATUS[kind] for kind in raised.__mro__ if kind in STATUS)


def _dotted(error: FieldError) -> str:
    """The place of an error as OpenAI names it: `messages.0.content`."""
    return error.pointer.removeprefix("/").replace("/", ".")


def _title(code: str) -> str:
    """A code as a title."""
    words = " ".join(SPELLED.get(word, word) for word in code.split("_"))
    return words[:1].upper() + words[1:]


def _domain(error: UnderstudyError) -> ProblemAnswer:
    return ProblemAnswer(
        status=status_of(error),
        code=error.code,
        domain=error.domain,
        detail=error.detail,
        errors=error.errors if isinstance(error, Invalid) else (),
        params=error.params,
        row=error.row,
        values=error.values,
    )


class ManyMistakes(RequestValidationError):
    """A body with so many errors that only the first ones are listed."""

    def __init__(self, errors: Sequence[Any], *, body: object, count: int) -> None:
        super().__init__(errors, body=body)
        self.count = count


def _validation(error: RequestValidationError) -> ProblemAnswer:
    found = error.errors()
    errors = tuple(_field_error(each, error.body) for each in found[:MAX_ERRORS])
    count = error.count if isinstance(error, ManyMistakes) else len(found)
    one = ":one" if count == 1 else ""
    return _domain(coded_error(f"api/bad_request{one}", errors=errors, count=count))


def _http(error: HTTPException) -> ProblemAnswer:
    return ProblemAnswer(
        status=error.status_code,
        code=HTTP_CODES.get(error.status_code, "bad_request"),
        domain="api",
        detail=HTTPStatus(error.status_code).phrase.lower(),
        headers=error.headers or {},
    )


def _is_raced(error: sql.IntegrityError) -> bool:
    told = (getattr(error.orig, name, None) for name in ("sqlite_errorname", "sqlstate"))
    return any(each in RACED for each in told)


def _field_error(found: Mapping[str, Any], body: object) -> FieldError:
    kind = SAME_MISTAKE.get(found["type"], found["type"])
    where, *location = found["loc"]
    known = location if where != "body" else _located(location, body)
    return FieldError(pointer=pointer(known), code=kind, detail=words_of(found))


def _located(location: Sequence[object], body: object) -> Iterable[object]:
    """The parts of a location that lead into the body, without the names of union members."""
    current = body
    for index, part in enumerate(location):
        is_last = index == len(location) - 1
        if isinstance(current, dict) and (part in current or is_last):
            current = current.get(part)
        elif isinstance(current, list) and isinstance(part, int) and part < len(current):
            current = current[part]
        else:
            continue
        yield part
