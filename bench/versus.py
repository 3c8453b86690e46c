"""Ours beside others: memories at growing size against `mem0ai` and `hermes-agent`, a run against
the bare loop of `pydantic-ai`.

The others are no dependencies: they are installed into an environment that is thrown away.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

from bench import versus_others
from bench.baseline import loop_cpu_seconds, route_config
from bench.learned_store import NOW_MS, LearnedStore, learning
from bench.report import figure, heading
from bench.retrieval_records import queries, records
from bench.runs import LONG_RUN, cpu_per_run, model_process
from tests.support.daemon import DaemonProcess
from understudy.sessions.learning_scopes import WORKSPACE

SIZES: Final = (1_000, 10_000, 100_000)
OTHERS: Final = tuple(versus_others.CONTESTANTS)
LOOP: Final = "pydantic-ai-slim[openai]"
# Whoever has not reached a size by then is left out there.
LIMIT_S: Final = 900.0
QUERIES: Final = 30
WORDS: Final = 24
INSTALL_S: Final = 900.0


def main(*, quick: bool = False, venv: Path | None = None) -> None:
    """Memories first, then a run."""
    sizes = SIZES[:2] if quick else SIZES
    heading("Memories beside others: CPU in ms to add one, and to find the ten best")
    made = list(records(sizes[-1] + len(sizes) * QUERIES))
    given = {
        "records": [" ".join(record.text.split()[:WORDS]) for record in made],
        "queries": [query for query, _ in queries(made[:500], QUERIES)],
        "sizes": sizes,
    }
    ours = [sys.executable, "-m", "bench.versus", "--ours"]
    figures = {"ours": _figures(ours, given)}
    with _environment(venv) as python:
        for name in OTHERS if python else ():
            script = [str(python), versus_others.__file__, name, str(LIMIT_S)]
            figures[name] = _figures(script, given)
        for place, size in enumerate(sizes):
            _print(size, {name: each[place] for name, each in figures.items() if len(each) > place})
        if python:
            _runs(python, 5 if quick else 20)


def _print(size: int, figures: dict[str, dict[str, float]]) -> None:
    for what in ("add", "search"):
        baseline = figures["ours"][what]
        for name, each in figures.items():
            label = f"{what} at {size:,}: {name}"
            if what in each:
                figure(label, each[what], "ms", baseline=None if name == "ours" else baseline)
            else:
                print(f"  {label:<58} not reached: {each['there']:,} in {LIMIT_S:.0f} s")


def _figures(command: list[str], given: dict[str, Any]) -> list[dict[str, float]]:
    """What a contestant prints; nothing where it fails."""
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"  {' '.join(command[1:3])} failed: {done.stderr.strip().splitlines()[-1:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@contextmanager
def _environment(venv: Path | None) -> Iterator[Path | None]:
    """A Python with the others installed; None where they cannot be."""
    with tempfile.TemporaryDirectory() as made:
        folder = venv or Path(made) / "venv"
        python = folder / "bin" / "python"
        try:
            if not python.exists():
                _quietly(sys.base_prefix + "/bin/python3", "-m", "venv", str(folder))
                _quietly(str(python), "-m", "pip", "install", "--quiet", *OTHERS, LOOP)
        except (OSError, subprocess.SubprocessError) as problem:
            print(
                f"  skipped {', '.join((*OTHERS, LOOP))}: they cannot be installed here ({problem})"
            )
            yield None
        else:
            yield python


def _quietly(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_S)


class _Ours:
    """Learnings, each published in a commit of its own, found as a prompt finds them."""

    def __init__(self, folder: Path) -> None:
        self._store = LearnedStore(f"sqlite:///{folder}/ours.db")
        self._numbers = count()

    def fill(self, texts: list[str]) -> None:
        self._store.fill(
            learning(f"lrn_{number:032x}", text, WORKSPACE, NOW_MS - number)
            for text, number in zip(texts, self._numbers, strict=False)
        )

    def add(self, text: str) -> None:
        self.fill([text])

    def search(self, query: str) -> object:
        return self._store.ask(query, "s1")


def _measure_ours() -> None:
    given = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        asked = given["records"], given["queries"], given["sizes"], LIMIT_S
        versus_others.measure(_Ours(Path(folder)), *asked)


def _runs(python: Path, runs: int) -> None:
    """The same model and tool calls by the bare loop, by our loop, and by a daemon on SQLite."""
    heading("A run of 11 model and 10 tool calls beside the bare loop of pydantic-ai")
    with model_process() as model_url, tempfile.TemporaryDirectory() as folder:
        script = [str(python), versus_others.__file__, versus_others.LOOP, model_url]
        [bare] = [each["cpu"] for each in _figures(script, {"prompt": LONG_RUN, "runs": runs})]
        figure("CPU, pydantic-ai alone", bare * 1000, "ms")
        loop, _ = loop_cpu_seconds(Path(folder) / "loop", model_url, LONG_RUN, runs=runs)
        figure("CPU, our loop without engine and database", loop * 1000, "ms", baseline=bare * 1000)
        home = Path(folder) / "home"
        with DaemonProcess(home, config=route_config(model_url), by_command_line=True) as daemon:
            (home / "workspace" / "note.txt").write_text("hello\n")
            cpu_per_run(daemon, bare, runs=runs, is_sqlite=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the largest size")
    parser.add_argument("--venv", type=Path, help="a folder that keeps what is installed")
    parser.add_argument("--ours", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ours:
        _measure_ours()
    else:
        main(quick=options.quick, venv=options.venv)
