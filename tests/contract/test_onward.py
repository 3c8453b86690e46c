"""Where a page sends on to is judged like a call of its own."""

from collections.abc import Collection, Iterator
from ipaddress import ip_address
from typing import Any

import pytest

from tests.support.factories import ALICE
from tests.support.run_harness import RunHarness
from tests.support.web_server import Answer, WebServer, web_server
from understudy.agent.gate import Gatekeeper, Onward
from understudy.permissions.model import CallRule, PermissionDecision
from understudy.runs.approvals import ApprovalService, Resolution
from understudy.runs.open_requests import RunPlace
from understudy.sessions.service import SessionService
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel
from understudy.tools.addresses import Address
from understudy.tools.web import FetchUrl

HOSTS = frozenset({"start.test", "end.test"})


async def resolve_here(host: str, port: int) -> Collection[Address]:
    return [ip_address("127.0.0.1")]


def rule(decision: PermissionDecision, pattern: str, reason: str | None = None) -> CallRule:
    return CallRule(tool="fetch_url", decision=decision, arguments={"url": pattern}, reason=reason)


@pytest.fixture
def server() -> Iterator[WebServer]:
    def answer(path: str) -> Answer:
        if path == "/begin":
            location = f"http://END.test:{started.port}/middle"
            return Answer(status=302, headers={"Location": location})
        if path == "/middle":
            return Answer(status=307, headers={"Location": "/end"})
        return Answer(b"arrived")

    with web_server(answer) as started:
        yield started


async def fetched(
    harness: RunHarness, fake: FakeModel, server: WebServer, *rules: CallRule
) -> dict[str, Any]:
    """What the tool says of a page that sends on twice, and where it has been."""
    SessionService(harness.units, harness.clock, lambda _: True).set_permissions(ALICE, "s1", rules)
    tool = FetchUrl(HOSTS, resolve=resolve_here, may_go_on=Onward(harness.units, Gatekeeper()))
    fetching = RunHarness(harness.units, harness.settings, tools=(tool,), clock=harness.clock)
    fake.queue(call("fetch_url", {"url": f"http://start.test:{server.port}/begin"}), "done")
    done = await fetching.run("get it")
    [result] = fetching.results(done.run.run_id)
    await fetching.providers.close()
    paths = [path for path, _ in server.seen]
    return {"status": result["status"], "content": result["content"], "paths": paths}


async def test_what_is_allowed_is_followed(
    harness: RunHarness, fake: FakeModel, server: WebServer
) -> None:
    rules = [rule(PermissionDecision.ALLOW, f"http://{host}:*/*") for host in HOSTS]

    said = await fetched(harness, fake, server, *rules)

    assert (said["status"], said["paths"]) == ("ok", ["/begin", "/middle", "/end"])
    assert said["content"].endswith("arrived")


async def test_what_is_denied_is_not_asked_for(
    harness: RunHarness, fake: FakeModel, server: WebServer
) -> None:
    allow = rule(PermissionDecision.ALLOW, "*")
    deny = rule(PermissionDecision.DENY, f"http://end.test:{server.port}/*", "not there")

    said = await fetched(harness, fake, server, allow, deny)

    assert (said["status"], said["paths"]) == ("error", ["/begin"])
    assert f"leads on to http://end.test:{server.port}/middle, which is denied" in said["content"]
    assert said["content"].endswith(": not there")


async def test_every_hop_is_judged(harness: RunHarness, fake: FakeModel, server: WebServer) -> None:
    deny = rule(PermissionDecision.DENY, "*/end")

    said = await fetched(harness, fake, server, rule(PermissionDecision.ALLOW, "*"), deny)

    assert (said["status"], said["paths"]) == ("error", ["/begin", "/middle"])


async def test_what_must_be_asked_for_is_named_and_left(
    harness: RunHarness, fake: FakeModel, server: WebServer
) -> None:
    said = await fetched(
        harness, fake, server, rule(PermissionDecision.ALLOW, "http://start.test:*/*")
    )

    assert (said["status"], said["paths"]) == ("error", ["/begin"])
    assert f"http://end.test:{server.port}/middle" in said["content"]
    assert "must be approved: call fetch_url for it" in said["content"]


async def test_who_agreed_to_a_page_agreed_to_its_site_and_no_other(
    harness: RunHarness, fake: FakeModel, server: WebServer
) -> None:
    tool = FetchUrl(HOSTS, resolve=resolve_here, may_go_on=Onward(harness.units, Gatekeeper()))
    fetching = RunHarness(harness.units, harness.settings, tools=(tool,), clock=harness.clock)
    approvals = ApprovalService(harness.units, harness.clock, lambda *_: None)
    contents = []
    for page in ("http://end.test:{}/middle", "http://start.test:{}/begin"):
        fake.queue(call("fetch_url", {"url": page.format(server.port)}), "done")
        run_id = fetching.submit("get it")
        waiting = await fetching.execute(run_id)
        yes = [Resolution(request_id=each.request_id, behavior="allow") for each in waiting.pending]
        approvals.resolve(ALICE, RunPlace(run_id=run_id), yes)
        await fetching.execute(run_id)
        contents += [str(result["content"]) for result in fetching.results(run_id)]
    await fetching.providers.close()

    assert contents[0].endswith("arrived")
    assert "must be approved" in contents[1]
