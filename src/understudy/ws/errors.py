"""Errors as frames: one table from class to code; an unexpected error shows no detail."""

from collections.abc import Mapping
from typing import Any, Final

import structlog
from pydantic import ValidationError

from understudy.core.errors import (
    Conflict,
    FieldError,
    Invalid,
    LimitExceeded,
    NotFound,
    Rejected,
    Unauthenticated,
    Unavailable,
    UnderstudyError,
    coded_error,
)
from understudy.core.mistakes import mistakes_of, words_of
from understudy.core.pointer import pointer
from understudy.i18n.problems import told_in
from understudy.wire.websocket import ErrorCode, FrameError

log = structlog.get_logger()

CODES: Final[Mapping[type[UnderstudyError], ErrorCode]] = {
    NotFound: "NOT_FOUND",
    Conflict: "FAILED_PRECONDITION",
    Rejected: "UNAUTHORIZED",
    Unauthenticated: "UNAUTHORIZED",
    Invalid: "INVALID_REQUEST",
    LimitExceeded: "RESOURCE_EXHAUSTED",
    Unavailable: "UNAVAILABLE",
    UnderstudyError: "INTERNAL",
}
RETRYABLE: Final = frozenset({"UNAVAILABLE"})
RETRY_AFTER_MS: Final = 1000
MAX_ERRORS: Final = 50


def error_of(error: Exception, locale: str | None = None) -> FrameError:
    """The error frame for an exception, in a language; unexpected exceptions are only logged."""
    if not isinstance(error, UnderstudyError):
        log.error("ws.failed", exc_info=error)
        error = coded_error("daemon/internal_error")
    code = next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)
    return FrameError(
        code=code,
        message=told_in(locale, error.row, error.detail, error.values).text,
        details=_details(error),
        retryable=code in RETRYABLE,
        retryAfterMs=RETRY_AFTER_MS if code in RETRYABLE else None,
    )


def _details(error: UnderstudyError) -> dict[str, Any]:
    found: dict[str, Any] = {"domain": error.domain, "code": error.code}
    wrong: tuple[FieldError, ...] = getattr(error, "errors", ())
    if wrong:
        found["errors"] = [
            {"pointer": each.pointer, "code": each.code, "detail": each.detail}
            for each in wrong[:MAX_ERRORS]
        ]
    if error.params:
        found["params"] = error.params
    return found


def wrong_values(error: ValidationError, *under: str) -> UnderstudyError:
    """The error for invalid values, with pointers `under` some place in the frame."""
    found = mistakes_of(error)
    errors = tuple(
        FieldError(
            pointer=pointer((*under, *each["loc"])), code=str(each["type"]), detail=words_of(each)
        )
        for each in found[:MAX_ERRORS]
    )
    shown = "; ".join(f"{each.pointer}: {each.detail}" for each in errors[:3])
    shown = shown or f"{error.error_count()} values are wrong"
    return coded_error("ws/bad_request", errors=errors, detail=shown)


def within(error: Invalid, place: str) -> Invalid:
    """The error with its pointers prefixed by a place in the frame."""
    return error.moved(lambda pointer: place + pointer)
