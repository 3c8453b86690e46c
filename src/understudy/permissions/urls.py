"""Matches patterns against URLs part by part, so that no part can pose as another."""

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import unquote

from understudy.core.urls import Target, UnclearUrl, read_url
from understudy.permissions.globs import WILDCARDS, matches

_USUAL_PORTS: Final = {"http": "80", "https": "443"}
_SPLIT: Final = re.compile(
    r"(?P<scheme>[^:/?#]+)://(?P<authority>[^/?#]*)(?P<rest>[^#]*)(?:#.*)?", re.DOTALL
)
# Characters that URL parsers disagree about: blanks, controls and backslashes.
_ODD: Final = re.compile(r"[\x00-\x20\x7f\\]")
_HOST: Final = re.compile(r"[a-z0-9_.-]+|\[[0-9a-f:.]+\]")
_SLASHES: Final = re.compile(r"/{2,}")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_CLIMBS: Final = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A URL, or a pattern of one, in parts; `rest` is the path with the query."""

    scheme: str
    host: str
    port: str
    rest: str
    names_login: bool

    @property
    def has_usual_port(self) -> bool:
        """Whether the port is the default of the scheme."""
        return self.port in ("", _USUAL_PORTS.get(self.scheme))

    def __str__(self) -> str:
        port = "" if self.has_usual_port else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}{self.rest}"


def url_objection(pattern: str, text: str) -> str | None:
    """Why an allow pattern does not match a URL; None when it does."""
    address = None if _ODD.search(text) else read_address(text)
    if address is None or address.names_login or not _HOST.fullmatch(address.host):
        return "is not a plain address, and an allow rule covers no other"
    if _CLIMBS.search(unquote(address.rest.partition("?")[0])):
        return "climbs with '..', which an allow rule does not cover"
    if pattern == "*":
        return None
    wanted = read_address(pattern)
    if wanted is None:
        return "is an address, so an allow pattern must spell scheme://host/path"
    if not _is_clear_host(wanted.host):
        return "is an address, so in the host of an allow pattern only a leading '*.' is a wildcard"
    return None if _fits(wanted, address) else "does not match"


def url_touches(pattern: str, text: str) -> bool:
    """Whether an ask or deny pattern matches a URL in any of its readings."""
    wanted = (pattern, *_levelled(pattern))
    return any(matches(each, reading) for each in wanted for reading in _readings(text))


def _readings(text: str) -> set[str]:
    found = {text}
    with suppress(UnclearUrl):
        found |= _carrying(read_url(text))
    found |= {reading for each in tuple(found) for reading in _levelled(_ODD.sub(_straight, each))}
    # Many servers decode percent-encoded characters.
    decoded = {unquote(each) for each in found}
    return found | decoded | {reading for each in decoded for reading in _levelled(each)}


def _carrying(target: Target) -> set[str]:
    """The host that is connected to; an IPv6 address may be an IPv4-mapped one."""
    found = {str(target)}
    mapped = target.address.ipv4_mapped if isinstance(target.address, IPv6Address) else None
    if mapped is not None:
        found.add(str(replace(target, host=str(mapped), address=mapped)))
    return found


def _levelled(text: str) -> tuple[str, ...]:
    """A URL or pattern in normal form, with doubled slashes and without."""
    address = read_address(text)
    if address is None:
        return ()
    path, mark, query = address.rest.partition("?")
    single = replace(address, rest=_SLASHES.sub("/", path) + mark + query)
    return str(address), str(single)


def read_address(text: str) -> Address | None:
    """A URL or pattern in normal form; None for anything else.

    Scheme and host are lower-case, credentials are dropped, and the path has no dot segments.
    """
    found = _SPLIT.fullmatch(text)
    if found is None:
        return None
    _, at, place = found["authority"].lower().rpartition("@")
    host, colon, port = place.rpartition(":")
    if not colon or place.endswith("]"):
        host, port = place, ""
    return Address(
        scheme=found["scheme"].lower(),
        host=_plain_host(host.removesuffix(".")),
        port=str(int(port)) if _PORT.fullmatch(port) else port,
        rest=_level(found["rest"] or ("*" if host == "*" else "/")),
        names_login=bool(at),
    )


def _plain_host(host: str) -> str:
    """An IPv6 address in its canonical spelling; anything else unchanged."""
    if not host.startswith("["):
        return host
    try:
        return f"[{IPv6Address(host.strip('[]'))}]"
    except ValueError:
        return host


def _fits(wanted: Address, address: Address) -> bool:
    port = address.port or _USUAL_PORTS.get(address.scheme, "")
    return (
        matches(wanted.scheme, address.scheme)
        and matches(wanted.host, address.host)
        and (matches(wanted.port, port) if wanted.port else address.has_usual_port)
        and matches(wanted.rest, address.rest)
    )


def _level(rest: str) -> str:
    """A path without dot segments; the query is unchanged."""
    path, mark, query = rest.partition("?")
    if not path.startswith("/"):
        return rest if path else f"/{rest}"
    names: list[str] = []
    for name in path.split("/")[1:]:
        spelled = name.lower().replace("%2e", ".")
        if spelled == "..":
            del names[-1:]
        elif spelled != ".":
            names.append(name)
    return "/" + "/".join(names) + mark + query


def _is_clear_host(host: str) -> bool:
    spelled = host.removeprefix("*.")
    return host == "*" or not any(mark in spelled for mark in WILDCARDS)


def _straight(odd: re.Match[str]) -> str:
    return "/" if odd[0] == "\\" else ""
