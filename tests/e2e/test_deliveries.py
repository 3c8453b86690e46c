"""Webhooks survive the daemon's death, and what is logged of them holds no secret."""

import hashlib
import hmac
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import routes_to
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.receiver import Receiver
from understudy.testing.fake_model import FakeModel

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SECRET = "of-the-tests-" + "own-making"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver
        receiver.release()


@pytest.fixture
def daemon(tmp_path: Path, model: FakeModel, database_url: str) -> Iterator[DaemonProcess]:
    """A daemon with a webhook secret, once on SQLite and once on PostgreSQL."""
    url = None if database_url.startswith("sqlite") else database_url
    env = {"UNDERSTUDY_WEBHOOK_SECRET": SECRET}
    with DaemonProcess(
        tmp_path / "home", database_url=url, env=env, config=routes_to(model)
    ) as daemon:
        yield daemon


def test_a_delivery_survives_a_kill_between_the_post_and_its_answer(
    daemon: DaemonProcess, receiver: Receiver
) -> None:
    daemon.post("/v1/sessions", {"session_id": "s1"})
    receiver.hold()
    target = {"plugin": "http", "address": receiver.url}
    run_id = daemon.submit("s1", "hello", reply_targets=[target])
    receiver.wait_for(1)
    daemon.kill()
    receiver.release()
    daemon.start()
    receiver.wait_for(2)

    def delivered() -> dict[str, Any] | None:
        [view] = daemon.get(f"/v1/runs/{run_id}")["deliveries"]
        return view if view["status"] == "delivered" else None

    view = wait_for(delivered, 30, what="the delivery")
    assert view["attempts"] == 2
    assert {told["delivery_id"] for told in receiver.told} == {view["delivery_id"]}
    assert {told["run_id"] for told in receiver.told} == {run_id}
    for request in receiver.requests:
        signed = request.headers["x-understudy-timestamp"].encode() + b"." + request.body
        expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        assert request.headers["x-understudy-signature"] == f"sha256={expected}"
    assert "delivery.tried" in daemon.log()
    assert "s3cret-in-query" not in daemon.log()
    assert SECRET not in daemon.log()


def test_the_command_line_shows_what_was_tried_and_tries_again(
    tmp_path: Path, model: FakeModel, receiver: Receiver
) -> None:
    receiver.statuses.append(410)
    with DaemonProcess(tmp_path / "home", config=routes_to(model)) as daemon:
        daemon.post("/v1/sessions", {"session_id": "s1"})
        target = {"plugin": "http", "address": receiver.url}
        run_id = daemon.submit("s1", "hello", reply_targets=[target])

        def with_status(status: str) -> dict[str, Any]:
            def look() -> dict[str, Any] | None:
                [view] = daemon.get(f"/v1/runs/{run_id}")["deliveries"]
                return view if view["status"] == status else None

            return wait_for(look, 20, what=f"a delivery that is {status}")

        delivery_id = with_status("dead")["delivery_id"]
        shown = command(daemon, "runs", "deliveries", run_id)
        assert delivery_id in shown
        assert "dead (410)" in shown
        command(daemon, "runs", "retry-delivery", run_id, delivery_id)
        with_status("delivered")
        assert "delivered (200)" in command(daemon, "runs", "deliveries", run_id)
        secret = command(daemon, "webhooks", "rotate-secret").strip()
        assert secret.startswith("whsec_")


def command(daemon: DaemonProcess, *arguments: str) -> str:
    """What a command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "understudy.cli.main", *arguments, "--url", daemon.url],
        capture_output=True,
        text=True,
        check=False,
        env=daemon.environment(),
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
