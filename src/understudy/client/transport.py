"""Sends calls over HTTP, again where that is safe, and reads what comes back."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import httpx2
from pydantic import ValidationError

from understudy.client.calls import Call, Json
from understudy.client.errors import (
    AnswerError,
    ClientError,
    UnavailableError,
    UnreachableError,
    problem_of,
)

T = TypeVar("T")
RETRY_STATUS: Final = 503
MAX_RETRY_AFTER_S: Final = 5.0
CONNECT_TIMEOUT_S: Final = 5.0
# The daemon sends a comment every few seconds; a stream silent for this long is dead.
STREAM_SILENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a call is sent again, and how long before each time."""

    delays_s: tuple[float, ...] = (0.1, 0.3, 0.9)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)


class Transport:
    """One connection pool to one daemon."""

    def __init__(
        self,
        http: httpx2.Client,
        *,
        retries: Retries,
        on_answer: Callable[[Json], None] | None = None,
    ) -> None:
        self.http = http
        self.retries = retries
        self._on_answer = on_answer

    def send(self, call: Call[T]) -> T:
        """The answer to a call, read; raises a `ClientError` otherwise."""
        delays = self.retries.delays_s if call.may_repeat else ()
        for delay in delays:
            try:
                return self._send_once(call)
            except (UnreachableError, UnavailableError) as problem:
                if not _may_help(problem):
                    raise
                self.retries.sleep(_pause(problem, delay))
        return self._send_once(call)

    def probe(self, path: str) -> bool:
        """Whether a path answers with a success; not sent again."""
        with self._reaching():
            return self.http.get(path, timeout=CONNECT_TIMEOUT_S).is_success

    def fetch(self, path: str, **query: str | int) -> bytes:
        """The bytes at a path."""
        with self._reaching():
            response = self.http.get(path, params=query)
        if not response.is_success:
            raise problem_of(response.status_code, response.content)
        return response.content

    @contextmanager
    def open_stream(
        self, path: str, *, last_event_id: str | None, **query: str
    ) -> Iterator[Iterator[bytes]]:
        """The bytes of an event stream, from after an event if one is named."""
        headers = {"Accept": "text/event-stream"}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        timeout = httpx2.Timeout(STREAM_SILENCE_S, connect=CONNECT_TIMEOUT_S)
        with (
            self._reaching(),
            self.http.stream(
                "GET", path, params=query, headers=headers, timeout=timeout
            ) as response,
        ):
            if not response.is_success:
                raise problem_of(response.status_code, response.read())
            yield response.iter_bytes()

    def _send_once(self, call: Call[T]) -> T:
        content, headers = _content(call)
        if call.idempotency_key:
            headers["Idempotency-Key"] = call.idempotency_key
        with self._reaching():
            response = self.http.request(
                call.method, call.path, params=call.query, headers=headers, **content
            )
        if not response.is_success:
            problem = problem_of(response.status_code, response.content)
            problem.retry_after_s = _seconds(response.headers.get("Retry-After"))
            raise problem
        return self._read(call, response)

    def _read(self, call: Call[T], response: httpx2.Response) -> T:
        try:
            answer: Any = response.json() if response.content else None
            result = call.read(answer)
        except ValidationError as problem:
            where = ".".join(str(part) for part in problem.errors()[0]["loc"])
            raise AnswerError(
                f"{call.method} {call.path} answered in a form that this client does not know"
                f" (at {where or 'the top'}); do the versions of client and daemon match?"
            ) from None
        except ValueError:
            raise AnswerError(
                f"{call.method} {call.path} did not answer JSON; is that an Understudy daemon?"
            ) from None
        if self._on_answer is not None:
            self._on_answer(answer)
        return result

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx2.TransportError as problem:
            reason = str(problem) or type(problem).__name__
            raise UnreachableError(str(self.http.base_url).rstrip("/"), reason) from problem


def _content(call: Call[T]) -> tuple[dict[str, Any], dict[str, str]]:
    """What a call sends, as httpx takes it, and the headers that belong to it."""
    upload = call.upload
    if upload is None:
        return {"json": call.body}, {}
    file = (upload.file_name, upload.content, upload.media_type)
    form = f"multipart/form-data; boundary={upload.boundary}"
    return {"data": dict(upload.fields), "files": {"file": file}}, {"Content-Type": form}


def _may_help(problem: ClientError) -> bool:
    return not isinstance(problem, UnavailableError) or problem.status == RETRY_STATUS


def _pause(problem: ClientError, delay: float) -> float:
    asked = problem.retry_after_s if isinstance(problem, UnavailableError) else None
    return delay if asked is None else min(max(asked, delay), MAX_RETRY_AFTER_S)


def _seconds(value: str | None) -> float | None:
    return float(value) if value is not None and value.isascii() and value.isdigit() else None
