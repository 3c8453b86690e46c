"""Where the daemon listens."""

from typing import Final

from understudy.settings.errors import SettingsError

DEFAULT_BIND: Final = "127.0.0.1:4600"


def split_bind(bind: str) -> tuple[str, int]:
    """Host and port of an address such as `127.0.0.1:4600`."""
    host, separator, port = bind.rpartition(":")
    if not separator or not host or not port.isdecimal() or int(port) > 65535:
        raise SettingsError(f"bind must be HOST:PORT, for example {DEFAULT_BIND}; got {bind!r}")
    return host, int(port)
