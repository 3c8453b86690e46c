"""What lists, searches, sweeps and boot tasks cost as there is ten and a hundred times as much."""

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

from bench.console_home import open_home
from bench.growth_home import BASE, make_home
from bench.report import heading
from understudy.api.app import create_app
from understudy.api.in_process import InProcessCalls, OperationRefused
from understudy.core.principal import Principal, Role
from understudy.daemon.background import Background
from understudy.daemon.services import Services
from understudy.daemon.wiring import Daemon
from understudy.work.worker import Duty

TIMES: Final = (1, 10, 100)
# How much more an operation may cost when there is a hundred times as much.
MOST: Final = 3.0
# Whoever takes less than this is not looked at: what it grows by is noise.
LEAST_MS: Final = 2.0
ROUNDS: Final = 5
# No more rounds after so long.
ENOUGH_S: Final = 0.5
ROOT: Final = Principal(user_id="local", role=Role.ADMIN)
# Words that only few records hold.
QUERY: Final = "code of gate 20"
# Also asked, though they have no pages.
MORE: Final = {
    "status.read": {}, "overview.read": {}, "runs.counts": {},
    "learning_candidates.next": {}, "audit.verify": {},
    "sessions.memory_context": {"query": QUERY}, "sessions.memory_search": {"query": QUERY},
    "sessions.prompt_preview": {"query": QUERY}, "search.find": {"query": QUERY},
}  # fmt: skip
# By what else a list is narrowed.
TEXTS: Final = {"query": QUERY, "actor": "nobody", "resource": "none", "binding_key": "none"}
Act = Callable[[], Awaitable[object]]


def main(*, quick: bool = False, home: Path | None = None) -> bool:
    """Measure each size in a process of its own; answers whether nothing grows beyond the aim."""
    sizes = TIMES[:2] if quick else TIMES
    spent: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as made:
        for times in sizes:
            folder = (home or Path(made)) / str(times)
            command = [sys.executable, "-m", "bench.growth", "--measure", str(folder), str(times)]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            spent[times] = json.loads(done.stdout.splitlines()[-1])
    return _print(spent)


def _print(spent: dict[int, dict[str, float]]) -> bool:
    small, *_, large = spent
    heading(f"CPU in ms with {BASE * small:,} to {BASE * large:,} runs (SQLite)")
    print(f"  {'':<52}" + "".join(f"{f'{times} x':>10}" for times in spent) + f"{'growth':>10}")
    met = True
    rows = {name: [each[name] for each in spent.values()] for name in spent[small]}
    for name, figures in sorted(rows.items(), key=lambda row: -row[1][-1]):
        growth = figures[-1] / max(figures[0], LEAST_MS)
        met &= growth <= MOST
        shown = "".join(f"{figure:>10.1f}" for figure in figures)
        print(f"  {name[:51]:<52}{shown}{growth:>9.1f}x{'' if growth <= MOST else '  GROWS'}")
    return met


async def measure(home: Path, times: int) -> dict[str, float]:
    """CPU milliseconds of each operation over a home, which is filled where it is not there."""
    ids = home / "made.json"
    if not ids.exists():
        ids.write_text(json.dumps(make_home(home, times)))
    made = json.loads(ids.read_text())
    daemon = open_home(home)
    daemon.resources.bell.attach(asyncio.get_running_loop())
    spent = {name: await _cpu_ms(act, 1) for name, act in _boot(daemon)}
    daemon.resources.state = "ready"
    for name, act in (*_sweeps(daemon.services), *_operations(daemon.services, made)):
        try:
            spent[name] = await _cpu_ms(act, ROUNDS)
        except OperationRefused as problem:
            print(f"{name}: {problem}", file=sys.stderr)
    return spent


async def _cpu_ms(act: Act, rounds: int) -> float:
    """The least of some rounds; what else the machine does meets only some of them."""
    least = float("inf")
    for number in range(rounds):
        start = time.process_time()
        await act()
        least = min(least, took := time.process_time() - start)
        # Not the first alone: some read once what they then know.
        if number and took > ENOUGH_S:
            break
    return least * 1000


def _boot(daemon: Daemon) -> Iterator[tuple[str, Act]]:
    """What a start waits for, in its order; the engine keeps only what is under way."""
    services = daemon.services
    tasks: dict[str, Callable[[], object]] = {
        "migrations": daemon.migrate,
        "built-in agents": services.agents.service.ensure_built_in,
        "run memories": services.run_memories.startup,
        "project tasks": services.projects.tasks.reconcile,
        "skills": services.skills.startup,
        "rollouts": services.rollout.startup,
    }
    for name, task in tasks.items():
        yield f"boot: {name}", _on_thread(task)


def _sweeps(services: Services) -> Iterator[tuple[str, Act]]:
    """Every check at intervals, and what each worker looks for when it wakes."""
    background = Background(services)
    for check in background._checks():
        if check.name not in ("stranded-watch", "sweep"):
            yield f"sweep: {check.name}", _on_thread(check.look)
    duties: dict[str, Duty[Any]] = {
        "deliveries": background._deliveries(),
        "background tasks": background._background_tasks(),
        "schedules": background._schedules(),
        "retention": background._retention(),
        "channels": background._channels(),
        "bridges": background._bridges(),
        "replays": background._replays(),
    }
    for name, duty in duties.items():
        yield f"sweep: {name}", _on_thread(lambda duty=duty: duty.claim(1))
    looks: dict[str, Callable[[], object]] = {
        "expiry": background._expire,
        "signals": background._follow_signals,
        "expired memories": services.run_memories.sweep,
        "skill usage": services.skill_usage.sweep,
        "suggestions": services.agents.suggester.look,
    }
    for name, look in looks.items():
        yield f"sweep: {name}", _on_thread(look)


def _on_thread(act: Callable[[], object]) -> Act:
    return lambda: asyncio.to_thread(act)


def _operations(services: Services, made: dict[str, str]) -> Iterator[tuple[str, Act]]:
    """Every list that the surface declares, as a whole and by each of its filters."""
    app = create_app(services)
    calls, declared = InProcessCalls(app), app.openapi()
    for methods in declared["paths"].values():
        parameters = methods.get("get", {}).get("parameters", [])
        asked = {each["name"]: each["schema"] for each in parameters if each["in"] == "query"}
        name = methods.get("get", {}).get("operationId")
        if name not in MORE and not {"cursor", "limit"} <= asked.keys():
            continue
        of = {each["name"] for each in parameters if each["in"] == "path"}
        if not of <= made.keys():
            print(f"{name}: none of {of - made.keys()} was made", file=sys.stderr)
            continue
        path = {each: made[each] for each in of} | MORE.get(name, {})
        yield name, _pages(calls, name, [path])
        for filtered, schema in asked.items():
            words = _words(declared, filtered, schema, made)
            if words and name not in MORE:
                each = [path | {filtered: word} for word in words]
                yield f"{name} ?{filtered}", _pages(calls, name, each)


def _words(declared: Any, name: str, schema: Any, made: dict[str, str]) -> list[str]:
    """What to narrow a list by: every word of an enum, an id that is there, a rare text."""
    text = json.dumps(schema)
    for ref in re.findall(r"#/components/schemas/(\w+)", text):
        return list(declared["components"]["schemas"][ref].get("enum", ()))
    if '"boolean"' in text:
        return ["true", "false"]
    value = made.get(name) or TEXTS.get(name)
    return [value] if value else []


def _pages(calls: InProcessCalls, name: str, asked: list[dict[str, str]]) -> Act:
    """The first page for each of some values, and the one after it."""

    async def act() -> None:
        for values in asked:
            page = await calls.call(ROOT, name, values, language="en")
            if isinstance(page, dict) and page.get("next_cursor"):
                more = values | {"cursor": page["next_cursor"]}
                await calls.call(ROOT, name, more, language="en")

    return act


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the largest home")
    parser.add_argument("--home", type=Path, help="a folder that keeps the filled homes")
    parser.add_argument("--measure", nargs=2, metavar=("HOME", "TIMES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        folder, factor = options.measure
        spent = asyncio.run(measure(Path(folder), int(factor)))
        print(json.dumps(spent))
    else:
        sys.exit(0 if main(quick=options.quick, home=options.home) else 1)
