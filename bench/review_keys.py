"""Review by keys: 100 mixed candidates decided in a browser at human speed, with the time of the server.

    .venv/bin/python -m bench.review_keys [--count 100] [--pause-ms 400]

Prints how long the server took for each decision (the request of the form) and for the page that
follows it, as 50th and 95th percentiles. Needs Chromium; see `tests/support/browser.py`.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Response

from tests.support.browser import chromium, tab_of
from tests.support.daemon import DaemonProcess

KINDS: Final = ("fact", "preference", "decision", "procedure")
# In turn: most are published, some are provisional, rejected with a reason, or put off.
KEYS: Final = ("a", "a", "p", "r", "a", "w")
REASON: Final = "not worth keeping"


def propose(daemon: DaemonProcess, count: int) -> None:
    """Candidates of all kinds; every tenth contradicts a learning, some apply always."""
    scope = {"kind": "workspace", "id": "default"}
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        body: dict[str, Any] = {"scope": scope, "kind": kind, "content": f"Room {number} has {number} chairs"}  # fmt: skip
        if number % 10 == 0 and kind != "procedure":
            known = {"content": f"Room {number} has {number + 1} chairs", "kind": kind}
            daemon.post("/v1/learnings", known)
        daemon.post("/v1/learning-candidates", body)


def percentile(values: list[float], share: int) -> float:
    """A percentile, of few values too."""
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def measure(daemon: DaemonProcess, *, count: int, pause_ms: int) -> dict[str, list[float]]:
    """Decide one candidate after another; milliseconds of the server by sort of request."""
    took: dict[str, list[float]] = {"decision": [], "page": []}

    def note(response: Response) -> None:
        timing = response.request.timing
        waited = timing["responseStart"] - timing["requestStart"]
        if "/act/" in response.url:
            took["decision"].append(waited)
        elif "/review" in response.url and timing["requestStart"] >= 0:
            took["page"].append(waited)

    with chromium() as browser, tab_of(browser, daemon.url) as tab:
        tab.goto("/review")
        tab.on("response", note)
        for number in range(count):
            tab.wait_for_timeout(pause_ms)
            here = tab.url
            key = KEYS[number % len(KEYS)]
            if tab.locator("[name=supersedes]").count():
                tab.keyboard.press("s")
            tab.keyboard.press(key)
            if key == "r":
                tab.keyboard.type(REASON)
                tab.keyboard.press("Enter")
            tab.wait_for_function("before => location.href !== before", arg=here)
            tab.wait_for_function("() => !('moving' in document.documentElement.dataset)")
    return took


def main() -> None:
    """Run the review, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--pause-ms", type=int, default=400)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        DaemonProcess(Path(folder) / "home") as daemon,
    ):
        propose(daemon, given.count)
        began = time.monotonic()
        took = measure(daemon, count=given.count, pause_ms=given.pause_ms)
        elapsed = time.monotonic() - began
        left = daemon.get("/v1/inbox")["counts"]["candidate"]
    print(f"{given.count} decisions in {elapsed:.0f} s; {left} wait")
    for name, values in took.items():
        print(
            f"{name:9} p50 {percentile(values, 50):6.1f} ms   p95 {percentile(values, 95):6.1f} ms"
        )


if __name__ == "__main__":
    main()
