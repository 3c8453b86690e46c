"""Memory of a daemon under steady load: what it holds after warm-up, and what it grows by then."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import psutil

from bench.baseline import route_config
from bench.report import figure, heading
from bench.runs import make_sessions, model_process, run_all
from bench.statements import SHORT_RUN
from tests.support.daemon import DaemonProcess

MINUTES: Final = 10.0
QUICK_MINUTES: Final = 1.0
# By then everything is loaded, and caches are as full as they get.
WARM_UP: Final = 0.2
SESSIONS: Final = 4
RUNS: Final = 20
# What each run after warm-up may add: caches that are bounded by number fill for some thousand runs.
MOST_KIB: Final = 5.0


def main(*, quick: bool = False, minutes: float | None = None) -> bool:
    """Short runs in ever new sessions for some minutes; answers whether memory stayed."""
    minutes = minutes or (QUICK_MINUTES if quick else MINUTES)
    heading(f"Memory over {minutes:g} minutes of short runs (SQLite)")
    with (
        model_process() as model_url,
        tempfile.TemporaryDirectory() as folder,
        DaemonProcess(Path(folder) / "home", config=route_config(model_url)) as daemon,
    ):
        seen = _watched(daemon, minutes * 60)
    _, before, warm = next(each for each in seen if each[0] >= WARM_UP)
    for share in (WARM_UP, 0.5, 1.0):
        _, runs, mib = next(each for each in seen if each[0] >= share or each is seen[-1])
        figure(f"resident after {share * minutes:g} minutes and {runs:,} runs", mib, "MiB")
    grown = (seen[-1][2] - warm) * 1024 / max(seen[-1][1] - before, 1)
    return figure("growth of each run after warm-up", grown, "KiB", at_most=MOST_KIB)


def _watched(daemon: DaemonProcess, seconds: float) -> list[tuple[float, int, float]]:
    """The share of the time, the runs until then, and the memory, after each round of runs."""
    process, began = psutil.Process(daemon.pid), time.monotonic()
    seen: list[tuple[float, int, float]] = []
    with daemon.client() as client:
        while not seen or seen[-1][0] < 1:
            names = make_sessions(client, "steady", SESSIONS)
            run_all(client, names, SHORT_RUN, RUNS)
            share = min((time.monotonic() - began) / seconds, 1.0)
            seen.append((share, (len(seen) + 1) * RUNS, process.memory_info().rss / 2**20))
    return seen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long; 30 for a release")
    sys.exit(0 if main(minutes=parser.parse_args().minutes) else 1)
