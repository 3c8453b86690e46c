"""What hostile or idle clients cost: open streams, and the worst bodies that each route takes."""

import socket
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import psutil

from bench.baseline import route_config
from bench.report import figure, heading, percentile
from tests.support.daemon import DaemonProcess, wait_for
from understudy.core.strict_json import MAX_NAMES
from understudy.testing.fake_model import FakeModel

IDLE_S = 20
STREAMS = 600
JSON = {"Content-Type": "application/json"}
# As many values as are taken, as deep as is taken, as long as is taken, and more than that.
BODIES = (
    b"[" + b",".join([b"0"] * 49_990) + b"]",
    b'{"a":' * 60 + b"0" + b"}" * 60,
    b'{"content":"' + b"x" * (1024 * 1024 - 20) + b'"}',
    b"[" + b"[]," * 300_000 + b"0]",
    # As many mistakes as there can be, and more than that.
    b"{" + b",".join(b'"k%d":0' % it for it in range(MAX_NAMES)) + b"}",
    b"{" + b",".join(b'"k%d":0' % it for it in range(49_990)) + b"}",
)
# Routes that are named with how long they held up `/healthz`.
WORST = 5
KINDS = ("/v1/events/stream", "/v1/sessions/{session}/stream")


def main(*, quick: bool = False) -> None:
    """Measure the streams, then the bodies."""
    with tempfile.TemporaryDirectory() as folder, FakeModel() as fake:
        home = Path(folder) / "home"
        with (
            DaemonProcess(home, config=route_config(fake.url), by_command_line=True) as daemon,
            daemon.client(timeout=60) as client,
        ):
            _bodies(daemon, client, 20 if quick else 200)
            _streams(daemon, client, 60 if quick else STREAMS)


def _bodies(daemon: DaemonProcess, client: httpx2.Client, most: int) -> None:
    """`/healthz` while each route gets the worst bodies that it takes, several at a time."""
    heading("Worst bodies on SQLite")
    document = client.get("/openapi.json").json()
    targets = [
        (method, path.replace("{", "x").replace("}", "x"))
        for path, operations in document["paths"].items()
        for method in operations
        if method in ("post", "put", "patch")
    ][:most]
    figure("idle /healthz, p99", _health_ms(client, [], lambda _: None), "ms")

    def send(target: tuple[str, str]) -> None:
        for body in BODIES:
            with daemon.client(timeout=60) as caller:
                caller.request(target[0], target[1], content=body, headers=JSON)

    figure(f"/healthz, {len(targets)} routes", _health_ms(client, targets, send), "ms", at_most=50)
    # One route after another: the longest wait while it has its bodies, the shortest of some rounds,
    # as whatever else the machine does only ever adds to it.
    waits = {target: min(_longest_ms(client, target, send) for _ in range(3)) for target in targets}
    for method, path in sorted(waits, key=lambda each: waits[each], reverse=True)[:WORST]:
        figure(f"longest, {method} {path}", waits[method, path], "ms")


def _health_ms(
    client: httpx2.Client,
    targets: list[tuple[str, str]],
    send: Callable[[tuple[str, str]], None],
) -> float:
    """The 99th percentile of answers while the targets are worked through, 4 at a time."""
    waits: list[float] = []
    with ThreadPoolExecutor(4) as pool:
        sending = [pool.submit(send, target) for target in targets]
        while len(waits) < 200 or not all(each.done() for each in sending):
            began = time.perf_counter()
            client.get("/healthz").raise_for_status()
            waits.append((time.perf_counter() - began) * 1000)
            time.sleep(0.005)
        for each in sending:
            each.result()
    return percentile(waits, 99)


def _longest_ms(
    client: httpx2.Client, target: tuple[str, str], send: Callable[[tuple[str, str]], None]
) -> float:
    """The longest answer of `/healthz` while one target is worked through alone."""
    longest = 0.0
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send, target)
        while not sending.done():
            began = time.perf_counter()
            client.get("/healthz").raise_for_status()
            longest = max(longest, (time.perf_counter() - began) * 1000)
        sending.result()
    return longest


def _streams(daemon: DaemonProcess, client: httpx2.Client, number: int) -> None:
    heading(f"{number} open streams on SQLite")
    client.post("/v1/sessions", json={"session_id": "watched"}).raise_for_status()
    alone, answer_s = _cpu(daemon), _run_s(client)
    figure("idle CPU, no stream", alone, "% core")
    figure("a run, no stream", answer_s * 1000, "ms")
    for path in KINDS:
        with ExitStack() as stack:
            for _ in range(number):
                stack.enter_context(_opened(daemon.url, path.format(session="watched")))
            cpu = _cpu(daemon)
            figure(f"idle CPU, {number} x {path}", cpu, "% core", at_most=alone + 5)
            figure(f"a run, {number} x {path}", _run_s(client) * 1000, "ms")


def _cpu(daemon: DaemonProcess) -> float:
    """The share of a core that the daemon takes while nothing happens."""
    process = psutil.Process(daemon.pid)
    time.sleep(2)
    before = sum(process.cpu_times()[:2])
    time.sleep(IDLE_S)
    return (sum(process.cpu_times()[:2]) - before) / IDLE_S * 100


def _run_s(client: httpx2.Client) -> float:
    """How long a run takes from its submission to its end."""
    began = time.perf_counter()
    run = client.post("/v1/sessions/watched/runs", json={"content": "hello"}).json()["run_id"]

    def ended() -> bool:
        return client.get(f"/v1/runs/{run}").json()["status"] == "completed"

    wait_for(ended, what="the run to end")
    return time.perf_counter() - began


def _opened(url: str, path: str) -> socket.socket:
    """A connection on which a stream has begun."""
    address = urlsplit(url)
    opened = socket.create_connection((address.hostname, address.port), timeout=30)
    opened.sendall(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
    if b" 200 " not in opened.recv(4096):
        raise SystemExit(f"{path} was not streamed")
    return opened
