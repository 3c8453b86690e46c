"""Keeps tests on this machine: any other address raises `NetworkBlocked`."""

import ipaddress
import os
import socket
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.support.postgres import EXTERNAL_URL


class NetworkBlocked(RuntimeError):
    """A test tried to leave the machine."""


def block_network() -> None:
    """Watch every socket call of this process from now on; there is no way back."""
    allowed = frozenset({urlsplit(os.environ.get(EXTERNAL_URL, "")).hostname}) - {None}

    def check(host: object) -> None:
        name = host.decode() if isinstance(host, bytes) else host
        if isinstance(name, str) and not is_local(name) and name not in allowed:
            raise NetworkBlocked(f"tests may not reach {name}")

    watched: dict[str, Callable[[tuple[Any, ...]], None]] = {
        "socket.connect": lambda arguments: check(_host(*arguments)),
        "socket.sendto": lambda arguments: check(_host(*arguments)),
        "socket.sendmsg": lambda arguments: check(_host(*arguments)),
        "socket.getaddrinfo": lambda arguments: check(arguments[0]),
        "socket.gethostbyname": lambda arguments: check(arguments[0]),
    }

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in watched:
            watched[event](arguments)

    sys.addaudithook(hook)


def is_local(host: str) -> bool:
    """Whether a host name or address is this machine."""
    if host in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _host(sock: socket.socket, address: object) -> object:
    """The host of an internet address; other families do not leave the machine."""
    internet = sock.family in (socket.AF_INET, socket.AF_INET6)
    return address[0] if internet and isinstance(address, tuple) else None
