"""The URLs that tools are given, and those that servers send them on to."""

import re
from typing import Final
from urllib.parse import urljoin

from understudy.core.urls import MAX_URL_CHARS, Target, UnclearUrl, read_url
from understudy.tools.base import ToolError
from understudy.tools.paths import show

__all__ = ["MAX_URL_CHARS", "Target", "follow", "parse_url"]

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def parse_url(text: str) -> Target:
    """Read a URL, or raise a `ToolError` that names the rule it breaks."""
    try:
        return read_url(text)
    except UnclearUrl as problem:
        raise ToolError(f"URL {show(text)} {problem}", code=problem.code) from None


def follow(base: Target, location: str) -> Target:
    """Where a server sends on to; a reference without a host stays at the same server."""
    if _SCHEME.match(location):
        return parse_url(location)
    if location.startswith("//"):
        return parse_url(f"{base.scheme}:{location}")
    resource = location.partition("#")[0]
    if not resource.startswith("/"):
        # Without its slash a path would become part of the host's name.
        resource = "/" + urljoin(base.resource, resource).lstrip("/")
    return parse_url(f"{base.scheme}://{base.authority}{resource}")
