"""A daemon that stops lets nobody hang."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed

from tests.api.live import Live, live_daemon
from tests.support.daemon import wait_for
from tests.support.rpc import rpc


def test_streams_and_inline_submits_end_when_the_daemon_stops(tmp_path: Path) -> None:
    opened = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        with live_daemon(tmp_path / "home") as live:
            live.session("s1")
            live.model.hold()
            lines = pool.submit(_read_all, live, opened)
            assert opened.wait(10)
            inline = pool.submit(live.client.post, "/v1/sessions/s1/input", json={"content": "a"})
            wait_for(
                lambda: "active_run_id" in live.ok("GET", "/v1/sessions/s1")["snapshot"],
                what="the run to start",
            )
            live.daemon.resources.shut_down()
            answer: httpx2.Response = inline.result(timeout=10)
            assert lines.result(timeout=10)[0] == "id: 1"
        assert (answer.status_code, answer.json()["code"]) == (503, "daemon_draining")
        assert answer.json()["params"]["run_id"].startswith("run_")


def test_sockets_are_closed_when_the_daemon_stops(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with live_daemon(tmp_path / "home") as live:
            url = str(live.client.base_url).replace("http:", "ws:").rstrip("/")
            client = stack.enter_context(rpc(url, log_in=False))
            assert client.ok("connect")["role"] == "admin"
        with pytest.raises(ConnectionClosed) as end:
            client.event()
    assert end.value.rcvd is not None
    assert (end.value.rcvd.code, end.value.rcvd.reason) == (1012, "the daemon stops")


def _read_all(live: Live, opened: threading.Event) -> list[str]:
    lines = []
    with live.client.stream("GET", "/v1/sessions/s1/stream") as answer:
        for line in answer.iter_lines():
            opened.set()
            lines.append(line)
    return lines
