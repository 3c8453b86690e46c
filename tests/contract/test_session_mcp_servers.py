"""The MCP servers that a session has for itself, on both databases."""

from ipaddress import ip_address
from typing import Any

import pytest

from tests.support.factories import ADMIN, ALICE
from understudy.core.errors import Conflict, Invalid, NotFound, Rejected
from understudy.core.page import PageRequest
from understudy.mcp_client.model import HttpServer, Program, SessionServer
from understudy.mcp_client.session_servers import SessionServerService
from understudy.sessions.model import SessionStatus
from understudy.sessions.service import SessionService
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock
from understudy.tools.addresses import Address
from understudy.tools.destinations import Destinations

pytestmark = pytest.mark.anyio
PLACES = {
    "tools.example": "93.184.215.14",
    "inside.example": "10.0.0.7",
    "meta.example": "169.254.169.254",
}


async def resolve(host: str, _: int) -> list[Address]:
    if host not in PLACES:
        raise OSError
    return [ip_address(PLACES[host])]


@pytest.fixture
def service(units: Units) -> SessionServerService:
    return SessionServerService(
        units=units,
        clock=FrozenClock(),
        destinations=Destinations(("10.9.0.0/16",), resolve),
        taken=frozenset({"time"}),
        environment={"PATH": "/bin", "OPENAI_API_KEY": "of the daemon"},
    )


def far(name: str = "far", url: str = "https://tools.example/mcp", **fields: Any) -> SessionServer:
    return SessionServer(name=name, url=url, **fields)


def program(name: str = "near", **fields: Any) -> SessionServer:
    return SessionServer(name=name, command="near", **fields)


async def test_servers_are_kept_per_session_and_replaced_as_a_whole(
    service: SessionServerService, units: Units
) -> None:
    rich = program(args=("-v",), env={"A": "1"}, cwd="/srv", timeout_s=3.5, approval="never")
    assert await service.set(ADMIN, "s1", [rich, far(headers={"X": "y"})]) == (
        far(headers={"X": "y"}),
        rich,
    )
    await service.set(ALICE, "s2", [far("other")])
    assert service.get("s1") == (far(headers={"X": "y"}), rich)

    await service.set(ALICE, "s1", [far("new")])
    assert service.get("s1") == (far("new"),)
    assert service.get("s2") == (far("other"),)

    await service.set(ALICE, "s1", [])
    assert service.get("s1") == ()


async def test_a_change_is_in_the_journal_and_the_audit_and_no_change_is_not(
    service: SessionServerService, units: Units
) -> None:
    for _ in range(2):
        await service.set(ALICE, "s1", [far()])

    with units.read() as unit:
        events = unit.journal.read(session_id="s1")
        entries = unit.audit.page(PageRequest(), resource="sessions", actor=None).items
    assert [event.data for event in events] == [{"type": "set_mcp_servers", "servers": ["far"]}]
    assert [(entry.action, entry.resource_id) for entry in entries] == [
        ("sessions.set_mcp_servers", "s1")
    ]


async def test_what_is_connected_to_has_no_more_than_it_was_given(
    service: SessionServerService,
) -> None:
    await service.set(ADMIN, "s1", [far(), program(env={"A": "1"}), far("off", enabled=False)])
    found = {server.name: server for server in service.usable("s1")}

    assert found.keys() == {"far", "near"}
    assert found["far"].target == HttpServer(url="https://tools.example/mcp", public_only=True)
    assert found["near"].target == Program(command="near", environment={"PATH": "/bin", "A": "1"})
    assert not any(server.is_credentialed for server in found.values())


@pytest.mark.parametrize(
    "server", [program(), far(approval="never"), far(trust_annotations=True)], ids=lambda s: s.name
)
async def test_what_runs_here_or_unasked_needs_an_admin(
    service: SessionServerService, server: SessionServer
) -> None:
    with pytest.raises(Rejected):
        await service.set(ALICE, "s1", [server])
    assert service.get("s1") == ()

    await service.set(ADMIN, "s1", [server])
    # An operator may keep it, and may take it away; not change it.
    await service.set(ALICE, "s1", [server, far("more")])
    with pytest.raises(Rejected):
        await service.set(ALICE, "s1", [program(server.name, args=("--more",))])
    await service.set(ALICE, "s1", [])


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:4600/mcp",
        "http://localhost/mcp",
        "http://[::1]/mcp",
        "http://10.0.0.7/mcp",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://0.0.0.0/",
        "http://192.168.1.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://inside.example/mcp",
        "http://meta.example/mcp",
        "http://metadata.google.internal/",
        "http://user@tools.example/",
        "http://tools.example\\@10.0.0.7/",
    ],
)
async def test_a_private_address_is_refused_by_number_and_by_name(
    service: SessionServerService, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setitem(PLACES, "localhost", "127.0.0.1")
    monkeypatch.setitem(PLACES, "metadata.google.internal", "93.184.215.14")
    with pytest.raises(Invalid) as refused:
        await service.set(ADMIN, "s1", [far(url=url)])

    assert refused.value.code == "mcp_url_refused"
    assert refused.value.errors[0].pointer == "/mcp_servers/far/url"
    assert service.get("s1") == ()


@pytest.mark.parametrize("url", ["http://10.9.1.2/mcp", "https://not-yet-known.example/mcp"])
async def test_what_the_operator_allows_and_what_is_not_known_yet_is_taken(
    service: SessionServerService, url: str
) -> None:
    assert await service.set(ALICE, "s1", [far(url=url)])


async def test_a_name_of_the_config_is_taken(service: SessionServerService) -> None:
    with pytest.raises(Conflict) as refused:
        await service.set(ADMIN, "s1", [far("time")])

    assert refused.value.code == "mcp_server_name_taken"


async def test_a_credential_is_refused_with_its_place(service: SessionServerService) -> None:
    with pytest.raises(Invalid) as refused:
        await service.set(ADMIN, "s1", [far(headers={"Authorization": "Bearer x"})])

    assert refused.value.code == "mcp_credential_refused"
    assert refused.value.errors[0].pointer == "/mcp_servers/far/headers/Authorization"


async def test_an_unknown_and_an_ended_session_take_none(
    service: SessionServerService, units: Units
) -> None:
    with pytest.raises(NotFound):
        await service.set(ALICE, "nowhere", [far()])
    with pytest.raises(NotFound):
        service.get("nowhere")
    sessions = SessionService(units, FrozenClock(), lambda _: True)
    assert sessions.end(ALICE, "s2", None).status is SessionStatus.ENDED
    with pytest.raises(Conflict):
        await service.set(ALICE, "s2", [far()])
