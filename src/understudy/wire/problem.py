"""Errors as RFC 9457 problem details."""

from understudy.core.errors import FieldError
from understudy.wire.base import Omitted, View

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:understudy:problem:"


class Problem(View):
    """Why a request failed. `domain/code` is a stable name of the reason."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    domain: str
    instance: str = ""
    errors: Omitted[list[FieldError]] = None
    params: Omitted[dict[str, object]] = None
    # Of a publication that contradicts what is known: the learnings nearest to it.
    neighbours: Omitted[list[dict[str, object]]] = None
