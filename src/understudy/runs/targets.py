"""Which addresses a webhook may have: operators set them, yet some places are for nobody."""

from ipaddress import ip_address
from typing import Final

from understudy.tools.addresses import LOOPBACK, PRIVATE, SHARED, Address, blocked_by, explain

# An operator's own receiver is often on the machine or the network beside us.
ALLOWED: Final = frozenset({None, LOOPBACK, PRIVATE, SHARED})


def refused_because(address: Address) -> str | None:
    """Why nothing is ever sent to this address; None when something may be."""
    reason = blocked_by(address)
    return None if reason in ALLOWED or reason is None else explain(reason)


def host_refused_because(host: str) -> str | None:
    """The same for a host that is written as an address; a name is looked at when it is resolved."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return refused_because(address)
