"""Commands as they are suggested: they go to the daemon that this one was told to talk to."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_url: ContextVar[str | None] = ContextVar("understudy_hinted_url", default=None)


@contextmanager
def for_daemon_at(url: str | None) -> Iterator[None]:
    """Suggest commands for the daemon at an address that was typed; None when none was."""
    before = _url.set(url)
    try:
        yield
    finally:
        _url.reset(before)


def understudy() -> str:
    """How a suggested command begins."""
    url = _url.get()
    return "understudy" if url is None else f"understudy --url {shlex.quote(url)}"
