"""Network addresses that agents may not reach, and why (SSRF protection).

Pure: a table and a lookup. The connection must check the address it connects to, not the name it
was asked for.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address

LOOPBACK: Final = "loopback"
PRIVATE: Final = "private"
LINK_LOCAL: Final = "link_local"
METADATA: Final = "metadata"
SHARED: Final = "shared"
MULTICAST: Final = "multicast"
UNSPECIFIED: Final = "unspecified"
RESERVED: Final = "reserved"

REASONS: Final = {
    LOOPBACK: "this machine itself",
    PRIVATE: "a private network",
    LINK_LOCAL: "the link this machine is on",
    METADATA: "a cloud's service for the secrets of this machine",
    SHARED: "a provider's inner network",
    MULTICAST: "many machines at once",
    UNSPECIFIED: "no address at all",
    RESERVED: "an address that is not in public use",
}

# The first network that holds an address decides; None means it is public.
_IPV4: Final = tuple(
    (IPv4Network(network), reason)
    for network, reason in (
        ("169.254.169.254/32", METADATA),
        ("169.254.170.2/32", METADATA),  # containers on AWS
        ("169.254.170.23/32", METADATA),  # pods on AWS
        ("100.100.100.200/32", METADATA),  # Alibaba
        ("168.63.129.16/32", METADATA),  # Azure; in a public range
        ("192.0.0.192/32", METADATA),  # Oracle
        ("0.0.0.0/32", UNSPECIFIED),
        ("0.0.0.0/8", RESERVED),
        ("10.0.0.0/8", PRIVATE),
        ("100.64.0.0/10", SHARED),
        ("127.0.0.0/8", LOOPBACK),
        ("169.254.0.0/16", LINK_LOCAL),
        ("172.16.0.0/12", PRIVATE),
        ("192.0.0.0/24", RESERVED),
        ("192.0.2.0/24", RESERVED),
        ("192.88.99.0/24", RESERVED),
        ("192.168.0.0/16", PRIVATE),
        ("198.18.0.0/15", RESERVED),
        ("198.51.100.0/24", RESERVED),
        ("203.0.113.0/24", RESERVED),
        ("224.0.0.0/4", MULTICAST),
        ("240.0.0.0/4", RESERVED),
        ("0.0.0.0/0", None),
    )
)

_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
_TEREDO: Final = IPv6Network("2001::/32")

_IPV6: Final = tuple(
    (IPv6Network(network), reason)
    for network, reason in (
        ("fd00:ec2::254/128", METADATA),  # AWS
        ("fd00:ec2::23/128", METADATA),  # pods on AWS
        ("fd20:ce::254/128", METADATA),  # Google
        ("fd00:42::42/128", METADATA),  # Scaleway
        ("::/128", UNSPECIFIED),
        ("::1/128", LOOPBACK),
        ("fc00::/7", PRIVATE),
        ("fe80::/10", LINK_LOCAL),
        ("fec0::/10", PRIVATE),
        ("ff00::/8", MULTICAST),
        ("2001::/23", RESERVED),
        ("2001:db8::/32", RESERVED),
        ("3fff::/20", RESERVED),
        (_MAPPED, None),
        (_NAT64, None),
        ("2000::/3", None),
        ("::/0", RESERVED),
    )
)

# Prefixes whose last 32 bits are an IPv4 address: mapped, NAT64, compatible and translated.
_LAST_32: Final = (_MAPPED, _NAT64, IPv6Network("::/96"), IPv6Network("::ffff:0:0:0/96"))
# The middle of an ISATAP address; an IPv4 address follows it.
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)


def blocked_by(address: Address) -> str | None:
    """Why agents may not reach this address; None when it is public.

    An IPv6 address that carries a blocked IPv4 address is `embeds_<reason>`.
    """
    if isinstance(address, IPv4Address):
        return next(reason for network, reason in _IPV4 if address in network)
    named = next(reason for network, reason in _IPV6 if address in network)
    if named in (None, RESERVED):
        for carried in _carried(address):
            inner = blocked_by(carried)
            if inner is not None:
                return f"embeds_{inner}"
    return named


def explain(reason: str) -> str:
    """The message for a reason of `blocked_by`."""
    inner = reason.removeprefix("embeds_")
    return REASONS[inner] if inner == reason else f"{REASONS[inner]}, inside an IPv6 address"


def _carried(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that a tunnel or translator would extract from this one."""
    bits = int(address)
    if any(address in network for network in _LAST_32) or (bits >> 32) & 0xFFFF_FFFF in _ISATAP:
        yield IPv4Address(bits & 0xFFFF_FFFF)
    if address in _SIX_TO_FOUR:
        yield IPv4Address((bits >> 80) & 0xFFFF_FFFF)
    if address in _TEREDO:
        yield IPv4Address((bits >> 64) & 0xFFFF_FFFF)
        yield IPv4Address(~bits & 0xFFFF_FFFF)  # the client's own, stored inverted
