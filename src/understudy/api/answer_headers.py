"""Headers of every answer: the request id, and what browsers must not do with the answer."""

import re
from collections.abc import MutableMapping
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Scope

from understudy.core.ids import new_id

REQUEST_ID: Final = "X-Request-Id"
_OWN_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,100}")
SECURITY_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def request_id_of(scope: Scope) -> str:
    """The request id that the caller sent, if it is a valid one, else a new one."""
    sent = Headers(scope=scope).get(REQUEST_ID, "")
    return sent if _OWN_ID.fullmatch(sent) else new_id("req")


def add_headers(message: MutableMapping[str, Any], request_id: str) -> None:
    """Add the headers to the start of an answer; those that the answer has itself are kept."""
    headers = MutableHeaders(scope=message)
    headers[REQUEST_ID] = request_id
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
