"""A tool of an installed package, in a daemon that finds it by its entry point."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess, wait_for
from understudy.client import Client
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e

CODE = '''
from understudy.tools.python import tool

@tool(effect="read", approval="never")
def stock(item: str) -> dict:
    """How many of an item are there."""
    return {"item": item, "count": 7}

@tool(effect="once", approval="always")
def order(item: str) -> str:
    """Order an item."""
    return f"ordered {item}"
'''
ENTRIES = """
[understudy.tools]
stock = warehouse:stock
order = warehouse:order
shell = warehouse:stock
broken = nowhere:nothing
"""
CONFIG = '[routes.a]\nprovider = "openai"\nmodel = "m"\nbase_url = "{url}"\n'


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with an installed package."""
    site = tmp_path / "site"
    info = site / "warehouse-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "warehouse.py").write_text(CODE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: warehouse\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    return site


@pytest.fixture
def daemon(tmp_path: Path, package: Path, model: FakeModel) -> Iterator[DaemonProcess]:
    with DaemonProcess(
        tmp_path / "home",
        env={"PYTHONPATH": str(package)},
        config=CONFIG.format(url=model.url),
        by_command_line=True,
    ) as daemon:
        yield daemon


def test_a_tool_of_a_package_is_called_approved_and_listed(
    daemon: DaemonProcess, model: FakeModel
) -> None:
    tools = {it["name"]: it for it in daemon.get("/v1/tools")["items"]}
    assert (tools["stock"]["effect"], tools["stock"]["approval"]) == ("read", "never")
    assert (tools["order"]["effect"], tools["order"]["approval"]) == ("once", "always")
    # A name that is taken and an entry that does not load are left out, and the log says why.
    assert tools["shell"]["approval"] == "always"
    assert daemon.log().count("tool.left_out") == 2

    model.queue(
        call("stock", {"item": "nut"}), call("order", {"item": "nut"}), Answer(text="Done.")
    )
    with Client(daemon.url) as client:
        reply = client.chat("Order a nut if there are any.")
        assert (str(reply), reply.run.status) == ("", "waiting_for_approval")
        (approval,) = reply.run.pending_approvals
        assert approval.tool_name == "order"
        daemon.request(
            "POST",
            f"/v1/runs/{reply.run.run_id}/approvals",
            json={"resolutions": [{"request_id": approval.request_id, "behavior": "allow"}]},
        )
        ended = wait_for(
            lambda: next((it for it in [client.runs.get(reply.run.run_id)] if it.outputs), None),
            what="its end",
        )
        assert ended.outputs[-1].text == "Done."
        results = [it.text for it in model.requests[-1].turns if it.role == "tool"]
        assert results == ['{"item": "nut", "count": 7}', "ordered nut"]

        model.queue(Answer(text="Hello, Ada."), Answer(text="You are Ada."))
        hello = client.chat("I am Ada.")
        assert hello == "Hello, Ada."
        assert client.chat("Who am I?", session_id=hello.run.session_id) == "You are Ada."
        learned = client.learn("We deploy on Fridays.")
        assert (learned.content, learned.kind) == ("We deploy on Fridays.", "fact")
        assert client.learn("Please answer briefly.", always=True).kind == "preference"
