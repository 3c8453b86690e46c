"""What a call can end in other than an answer.

ClientError
├── InvalidCall              the call makes no sense and was not sent
├── UnreachableError         no daemon answered
├── AnswerError              the answer is not what this client understands
├── SecondNeeded             it waits for a second person, or for two
├── WaitTimeout              what was waited for did not happen in time
└── ProblemError             the daemon said no: status, code, domain, detail, errors
    ├── InvalidError         400, 413: a value is wrong
    ├── NotFoundError        404
    ├── RefusedError         somebody or something forbids it
    │   ├── UnauthorizedError    401
    │   ├── ForbiddenError       403
    │   ├── ConflictError        409, 412
    │   └── UnsafeError          422
    └── UnavailableError     429, 503, 504: trying again may help
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from understudy.core.errors import FieldError


# Both HTTP libraries name these in their own ways.
CAUSES: Final = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"^\w*Timeout", "it did not answer in time"),
        (r"IncompleteRead|complete message body", "it closed the connection amid its answer"),
        (r"RemoteDisconnected|without sending a response", "it closed the connection unanswered"),
        (
            r"BadStatusLine|LineTooLong|UnknownProtocol|RemoteProtocolError",
            "what answers there does not speak HTTP",
        ),
        (
            r"WRONG_VERSION_NUMBER|RECORD_LAYER",
            "it does not speak TLS; use http:// in place of https://",
        ),
        (r"CERTIFICATE_VERIFY_FAILED", "its certificate cannot be verified"),
    )
)


class ClientError(Exception):
    """A call did not succeed."""


class InvalidCall(ClientError):
    """The call is invalid, and was not sent."""


class UnreachableError(ClientError):
    """No daemon answered at the address."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"no daemon answers at {url}: {reason}")
        self.url = url
        self.reason = reason


def unreachable_because(problem: Exception) -> str:
    """Why nobody answered, in our words; the system's where there are none, without its number."""
    said = f"{type(problem).__name__} {problem}"
    for pattern, words in CAUSES:
        if pattern.search(said):
            return words
    said = str(problem).rpartition("] ")[2] or type(problem).__name__
    return said[:1].lower() + said[1:]


class AnswerError(ClientError):
    """The daemon's answer cannot be parsed by this client."""


class SecondNeeded(ClientError):
    """The change is pending until one or two more people approve it."""

    def __init__(self, waiting: Mapping[str, Any]) -> None:
        first = waiting.get("first_by")
        begun = f"approved by {first}" if first else f"proposed by {waiting.get('proposed_by')}"
        number = "a second person" if first else "two other people"
        super().__init__(f"{begun}, and it waits for {number}: {waiting.get('approval_id')}")
        self.waiting = waiting


class WaitTimeout(ClientError):
    """The timeout has passed; the run or trial continues."""


class ProblemError(ClientError):
    """The daemon answered with a problem document."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = dict(problem)
        self.code = str(problem.get("code") or f"http_{status}")
        self.domain = str(problem.get("domain") or "daemon")
        self.title = str(problem.get("title") or "")
        self.detail = str(problem.get("detail") or self.title or f"status {status}")
        self.errors = tuple(_field_problems(problem.get("errors")))
        # The daemon's `Retry-After`, in seconds.
        self.retry_after_s: float | None = None
        super().__init__(f"{self.detail} ({self.domain}/{self.code})")


class InvalidError(ProblemError):
    """A value in the request is invalid."""


class NotFoundError(ProblemError):
    """The resource does not exist, or is not visible to the caller."""


class RefusedError(ProblemError):
    """A rule, a role or the state of the resource forbids it."""


class UnauthorizedError(RefusedError):
    """A valid token is needed."""


class ForbiddenError(RefusedError):
    """The token's role does not suffice."""


class ConflictError(RefusedError):
    """The state of the resource does not allow this."""


class UnsafeError(RefusedError):
    """The guard rejected the content; `errors` lists the findings."""


class UnavailableError(ProblemError):
    """The daemon cannot do it now; a retry may succeed."""


BY_STATUS: Final[Mapping[int, type[ProblemError]]] = {
    400: InvalidError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: ConflictError,
    413: InvalidError,
    422: UnsafeError,
    429: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}


def problem_of(status: int, content: bytes) -> ProblemError:
    """The exception for an answer with this status."""
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if not isinstance(body, dict) or "code" not in body:
        detail = f"the answer is {status} and no problem document; is that an Understudy daemon?"
        body = {"status": status, "detail": detail}
    return BY_STATUS.get(status, ProblemError)(status, body)


def _field_problems(errors: object) -> list["FieldError"]:
    from understudy.core.errors import FieldError

    if not isinstance(errors, list):
        return []
    return [
        FieldError(
            pointer=str(error.get("pointer", "")),
            code=str(error.get("code", "")),
            detail=str(error.get("detail", "")),
        )
        for error in errors
        if isinstance(error, dict)
    ]
