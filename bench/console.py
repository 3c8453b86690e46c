"""The console with much to show: each page against its JSON twin, and decisions by keys."""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import httpx2
import psutil

from bench.console_home import CALLS, CANDIDATES, LEARNINGS, RUNS, fill, session_id
from bench.report import figure, heading, percentile
from tests.support.daemon import wait_for
from tests.support.postgres_server import free_port
from understudy.console.site_map import PAGES

TIMES: Final = 40
# For each operation that a page calls.
CALL_TIMES: Final = 20
# What the CPU time of a process is counted in, spread over some requests.
LEAST_MS: Final = 0.1
MOST_MS: Final = 150.0
MOST_RATIO: Final = 2.0
DECISIONS: Final = 100
MOST_DECISION_MS: Final = 30.0
# As somebody reviews: mostly published, some for a trial, some rejected.
KEYS: Final = "aarapraaar"
SUPERSEDE: Final = "s"
TWIN: Final = re.compile(r'<a href="([^"]+)"[^>]*>JSON</a>')
# Pages whose first screen depends on a query.
ASKED: Final = (f"/memory?session_id={session_id(0)}&query=code+of+gate+20",)
OURS: Final = {"Sec-Fetch-Site": "same-origin"}


def main(*, quick: bool = False, home: Path | None = None) -> bool:
    """Measure every page and a hundred decisions; answers whether every target is met."""
    scale = 0.1 if quick else 1.0
    with tempfile.TemporaryDirectory() as made:
        folder = home or Path(made) / "home"
        if not (folder / "understudy.db").exists():
            started = time.perf_counter()
            fill(
                folder,
                runs=int(RUNS * scale),
                candidates=int(CANDIDATES * scale),
                learnings=int(LEARNINGS * scale),
            )
            print(f"filled {folder} in {time.perf_counter() - started:.0f} s")
        sizes = [f"{int(size * scale):,}" for size in (CANDIDATES, LEARNINGS, RUNS)]
        with _server(folder) as (http, process):
            heading("Pages with {} candidates, {} learnings, {} runs".format(*sizes))
            met = _pages(http, process)
            heading("A review by keys")
            return _decisions(http, process) and met


@contextmanager
def _server(home: Path) -> Iterator[tuple[httpx2.Client, psutil.Process]]:
    port = free_port()
    command = [sys.executable, "-m", "bench.console_home", str(home), str(port)]
    process = subprocess.Popen(command)
    try:
        url = f"http://127.0.0.1:{port}"
        with httpx2.Client(base_url=url, timeout=60, headers=OURS | {"Origin": url}) as http:
            wait_for(lambda: _answers(http))
            yield http, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _answers(http: httpx2.Client) -> bool:
    try:
        return http.get("/docs").status_code == 200
    except httpx2.TransportError:
        return False


def _pages(http: httpx2.Client, process: psutil.Process) -> bool:
    titles = (
        "p50 ms",
        "p95 ms",
        "twin",
        "ratio",
        "CPU ms",
        "twin",
        "ratio",
        "calls",
        "all",
        "ratio",
    )
    print(f"  {'page':<44}" + "".join(f"{title:>8}" for title in titles))
    met = [_page(http, process, path) for path in _paths(http)]
    print(
        "  twin: the JSON of the page; all: CPU of every operation that the page calls, over HTTP"
    )
    figure("pages that meet both targets", sum(met), f"of {len(met)}")
    return all(met)


def _paths(http: httpx2.Client) -> Iterator[str]:
    """Every page; for one of a thing, the first thing that its list links to."""
    plain = {page.path for page in PAGES}
    for page in PAGES:
        if page.path == "/":
            continue
        before, is_one, _ = page.path.partition("{")
        if not is_one:
            yield page.path
            continue
        listed = http.get(before.rstrip("/"))
        own = re.escape(before)
        found = [
            path
            for path in re.findall(rf'href="({own}[\w.%~-]+)["?#]', listed.text)
            if path not in plain
        ]
        if found and page.path.endswith("}"):
            yield found[0]
    yield from ASKED


def _page(http: httpx2.Client, process: psutil.Process, path: str) -> bool:
    http.get(CALLS)
    first = http.get(path)
    calls: list[str] = http.get(CALLS).json()
    twin = TWIN.search(first.text)
    if first.status_code != 200 or twin is None:
        print(f"  {path:<44} answered {first.status_code} without a twin")
        return first.status_code in (200, 303)
    address = twin[1].replace("&amp;", "&")
    pages, twins = list[float](), list[float]()
    cpu_pages = cpu_twins = 0.0
    # One beside the other, so that what else the machine does meets both.
    for _ in range(4):
        more, cpu = _took(http, process, path, TIMES // 4)
        pages += more
        cpu_pages += cpu
        more, cpu = _took(http, process, address, TIMES // 4)
        twins += more
        cpu_twins += cpu
    cpu_calls = sum(_took(http, process, each, CALL_TIMES)[1] / CALL_TIMES for each in calls)
    spent = (cpu_pages / TIMES, cpu_twins / TIMES, float(cpu_calls))
    return _row(path, pages, twins, spent, len(calls))


def _row(
    path: str,
    pages: Sequence[float],
    twins: Sequence[float],
    cpu: tuple[float, float, float],
    calls: int,
) -> bool:
    median, twin = percentile(pages, 50), percentile(twins, 50)
    slow = percentile(pages, 95)
    ratio = median / twin
    met = ratio <= MOST_RATIO and slow <= MOST_MS
    of_page, of_twin, of_all = cpu
    of_twin, of_all = max(of_twin, LEAST_MS), max(of_all, LEAST_MS)
    numbers = (median, slow, twin, ratio, of_page, of_twin, of_page / of_twin)
    shown = "".join(f"{number:>8.1f}" for number in numbers)
    shown += f"{calls:>8}{of_all:>8.1f}{of_page / of_all:>8.1f}"
    print(f"  {path[:43]:<44}{shown}  {'ok' if met else 'MISSED'}", flush=True)
    return met


def _took(
    http: httpx2.Client, process: psutil.Process, path: str, times: int
) -> tuple[list[float], float]:
    """The wall times of requests, and the CPU time of the daemon for all of them, in ms."""
    before = _cpu(process)
    took = []
    for _ in range(times):
        start = time.perf_counter()
        http.get(path)
        took.append((time.perf_counter() - start) * 1000)
    return took, _cpu(process) - before


def _cpu(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return float(spent.user + spent.system) * 1000


def _decisions(http: httpx2.Client, process: psutil.Process) -> bool:
    """Decide what waits, key by key, as the page offers it."""
    took, pages = list[float](), list[float]()
    cpu = 0.0
    for number in range(DECISIONS):
        start = time.perf_counter()
        page = http.get("/review")
        pages.append((time.perf_counter() - start) * 1000)
        action, fields = Keys(page.text).form_of(KEYS[number % len(KEYS)])
        before = _cpu(process)
        start = time.perf_counter()
        answer = http.post(action, data=fields, headers={"HX-Request": "true"})
        took.append((time.perf_counter() - start) * 1000)
        cpu += _cpu(process) - before
        if answer.status_code not in (204, 303):
            print(f"  {action} answered {answer.status_code}: {answer.text[:200]}")
            return False
    figure("CPU of a decision", cpu / DECISIONS, "ms")
    figure("a decision, p50", percentile(took, 50), "ms")
    figure("the page after it, p95", percentile(pages, 95), "ms")
    return figure("a decision, p95", percentile(took, 95), "ms", at_most=MOST_DECISION_MS)


class Keys(HTMLParser):
    """The forms of a page, and which of them a key sends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._actions: dict[str, str] = {}
        self._fields: dict[str, dict[str, str]] = {}
        self._keys: dict[str, tuple[str, dict[str, str]]] = {}
        self._ticks: dict[str, tuple[str, dict[str, str]]] = {}
        self._open = ""
        self._area: str | None = None
        self.feed(text)

    def form_of(self, key: str) -> tuple[str, dict[str, str]]:
        """The address and the fields that a key sends."""
        form, more = self._keys[key]
        # What says otherwise is superseded, or nothing could be published.
        ticked, tick = self._ticks.get(SUPERSEDE, ("", {}))
        return self._actions[form], self._fields[form] | more | (tick if ticked == form else {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = given.get("id") or f"form {len(self._actions)}"
            self._actions[self._open] = given.get("action", "")
            self._fields[self._open] = {}
        form = given.get("form") or self._open
        key = given.get("data-key") or given.get("data-focus-key")
        own = {given["name"]: given.get("value", "")} if "name" in given else {}
        if key and given.get("type") == "checkbox":
            self._ticks[key] = (form, own)
        elif key and tag != "textarea":
            self._keys.setdefault(key, (form, own if tag == "button" else {}))
        if tag == "textarea":
            self._area = given.get("name")
        elif tag == "input" and _is_sent(given) and form in self._fields:
            self._fields[form][given["name"]] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._area is not None and self._open:
            self._fields[self._open][self._area] = data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = ""
        elif tag == "textarea":
            self._area = None


def _is_sent(given: dict[str, str]) -> bool:
    """Whether an input counts: one that is to be ticked only when it is."""
    return "name" in given and (
        given.get("type") not in ("checkbox", "radio") or "checked" in given
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    parser.add_argument("--home", type=Path, help="a home that is kept and used again")
    options = parser.parse_args()
    sys.exit(0 if main(quick=options.quick, home=options.home) else 1)
