"""Which addresses agents may not reach, and why."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import every_row
from understudy.tools.addresses import REASONS, blocked_by, explain

BLOCKED = (
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("0.0.0.0", "unspecified"),
    ("0.1.2.3", "reserved"),
    ("10.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.168.1.1", "private"),
    ("169.254.1.1", "link_local"),
    ("169.254.169.254", "metadata"),
    ("169.254.170.2", "metadata"),
    ("100.100.100.200", "metadata"),
    ("168.63.129.16", "metadata"),
    ("192.0.0.192", "metadata"),
    ("100.64.0.1", "shared"),
    ("100.127.255.255", "shared"),
    ("192.0.0.8", "reserved"),
    ("192.0.2.1", "reserved"),
    ("198.18.0.1", "reserved"),
    ("198.51.100.1", "reserved"),
    ("203.0.113.1", "reserved"),
    ("224.0.0.1", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("fe80::1", "link_local"),
    ("fe80::1%eth0", "link_local"),
    ("fec0::1", "private"),
    ("fc00::1", "private"),
    ("fd12:3456::1", "private"),
    ("fd00:ec2::254", "metadata"),
    ("fd20:ce::254", "metadata"),
    ("ff02::1", "multicast"),
    ("100::1", "reserved"),
    ("2001:db8::1", "reserved"),
    ("3fff::1", "reserved"),
    ("5f00::1", "reserved"),
    ("4000::1", "reserved"),
    ("64:ff9b:1::1", "reserved"),
    ("::8.8.8.8", "reserved"),
    ("::ffff:127.0.0.1", "embeds_loopback"),
    ("::ffff:169.254.169.254", "embeds_metadata"),
    ("::ffff:0:10.0.0.1", "embeds_private"),
    ("::127.0.0.1", "embeds_loopback"),
    ("64:ff9b::10.0.0.1", "embeds_private"),
    ("64:ff9b::a9fe:a9fe", "embeds_metadata"),
    ("2002:7f00:1::", "embeds_loopback"),
    ("2002:c0a8:101::1", "embeds_private"),
    ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "embeds_reserved"),
    ("2001:0:808:808:0:0:f7f7:f7f7", "reserved"),
    ("2001:0:0a00:1::", "embeds_private"),
    ("2001:0:808:808:0:0:80ff:fffe", "embeds_loopback"),
    ("2600::5efe:127.0.0.1", "embeds_loopback"),
    ("2600::200:5efe:10.0.0.1", "embeds_private"),
)
PUBLIC = (
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
)


@every_row(("address", "reason"), BLOCKED)
def test_an_address_that_is_not_public_is_blocked_for_its_reason(address: str, reason: str) -> None:
    assert blocked_by(ip_address(address)) == reason
    assert explain(reason)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_not_blocked(address: str) -> None:
    assert blocked_by(ip_address(address)) is None


def test_every_reason_has_an_example() -> None:
    assert {reason for _, reason in BLOCKED} >= set(REASONS)


@given(st.ip_addresses(v=4))
def test_whatever_python_calls_not_global_is_blocked(address: IPv4Address) -> None:
    if not address.is_global:
        assert blocked_by(address) is not None


@given(st.ip_addresses(v=6))
def test_whatever_python_calls_not_global_is_blocked_in_ipv6_too(address: IPv6Address) -> None:
    if not address.is_global and address.ipv4_mapped is None:
        assert blocked_by(address) is not None


@given(st.ip_addresses(v=4))
def test_no_wrapper_hides_an_address(address: IPv4Address) -> None:
    reason = blocked_by(address)
    number = int(address)
    wrapped = (
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
    )
    for wrapper in wrapped:
        assert blocked_by(wrapper) == (f"embeds_{reason}" if reason else None)
