"""Imports of long transcripts: their processor time by what is read, and the memory of the daemon."""

import json
import tempfile
import time
from pathlib import Path
from typing import Final

import psutil

from bench.report import figure, heading
from tests.support.daemon import DaemonProcess
from tests.support.transcripts import Claude
from understudy.cli.imports import PART_BYTES, PARTS

MEGABYTE: Final = 1024 * 1024
SIZE: Final = 100 * MEGABYTE
AIM_MB_S: Final = 5
GROWTH_AIM_MB: Final = 40
CALLS: Final = 12


def main(*, quick: bool = False) -> bool:
    """Measure, and answer whether every target was met."""
    size = SIZE // 10 if quick else SIZE
    heading(f"Import of a transcript of {size // MEGABYTE} MB (CPU of the daemon)")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        small, large = place / "small.jsonl", place / "large.jsonl"
        _write(small, MEGABYTE, "a")
        _write(large, size, "b")
        with DaemonProcess(place / "home", by_command_line=True) as daemon:
            return _measure(daemon, small, large)


def _measure(daemon: DaemonProcess, small: Path, large: Path) -> bool:
    policy = daemon.get("/v1/runtime/learning-policy")["policy"]
    policy["capture"]["semantic_candidates"]["enabled"] = False
    daemon.post("/v1/runtime/learning-policy", {"policy": policy})
    process = psutil.Process(daemon.pid)
    _import(daemon, small)
    before = process.memory_info().rss
    spent, turns = _cost(daemon, process, large)
    again, _ = _cost(daemon, process, large)
    size = large.stat().st_size / 1e6
    figure("turns", turns, "turns")
    rate = figure("read and recorded", size / spent, "MB/s", at_least=AIM_MB_S)
    figure("of it, reading lines with json.loads alone", _parsing(large) / spent * 100, "%")
    figure("a second time, when nothing is added", size / again, "MB/s", baseline=size / spent)
    grown = (process.memory_info().rss - before) / MEGABYTE
    return figure("memory that the daemon grew by", grown, "MB", at_most=GROWTH_AIM_MB) and rate


def _cost(daemon: DaemonProcess, process: psutil.Process, path: Path) -> tuple[float, int]:
    started = process.cpu_times()
    turns = _import(daemon, path)
    ended = process.cpu_times()
    return ended.user + ended.system - started.user - started.system, turns


def _import(daemon: DaemonProcess, path: Path) -> int:
    """Import a file as the command does, part by part."""
    body: dict[str, object] = {"source": "claude-code", "path": str(path), "max_bytes": PART_BYTES}
    turns = 0
    while True:
        done = daemon.post("/v1/imports", body)
        turns += done["turns"]
        if "next_cursor" not in done:
            return turns
        body["max_bytes"] = max(PART_BYTES, done["bytes_total"] // PARTS)
        body["cursor"] = done["next_cursor"]


def _parsing(path: Path) -> float:
    began = time.process_time()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return time.process_time() - began


def _write(path: Path, size: int, name: str) -> None:
    """A transcript like a day's work: each prompt with calls, their results, and what is left out."""
    noise = Claude.line("attachment", attachment={"type": "prompt_snapshot", "text": "x" * 30_000})
    output = "".join(
        f"src/module_{at}.py:{at}: def work_{at}(it): return it\\n" for at in range(90)
    )
    with path.open("w") as file:
        number = 0
        while file.tell() < size:
            number += 1
            calls = [Claude.call(f"Read{at}", {"path": f"{at}.py"}, output) for at in range(CALLS)]
            prompt = Claude.user(f"Look at module {number} of {name}, and tell me what it returns.")
            found = (
                prompt,
                noise,
                *(it for pair in calls for it in pair),
                Claude.agent("It works."),
            )
            file.writelines(f"{json.dumps({**it, 'sessionId': name})}\n" for it in found)
