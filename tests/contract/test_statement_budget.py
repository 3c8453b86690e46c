"""How often a daemon asks its database: for a short run, and in a minute without work.

A change that exceeds a budget reads or writes something once more per run. Take that out, or raise
the figure on purpose.
"""

from collections import Counter
from pathlib import Path

import pytest

from bench.idle import count_idle_minute
from bench.statements import count_short_runs
from tests.api.live import live_daemon, settings_at

pytestmark = pytest.mark.one_database

STATEMENTS, COMMITS = 90, 14


def test_a_run_of_two_model_calls_and_a_tool_call_stays_within_its_statements(
    tmp_path: Path,
) -> None:
    with live_daemon(tmp_path) as live:
        runs = count_short_runs(live, runs=4)

    # The least of them: looks that are due by the clock may fall into any run.
    least = min(runs, key=lambda work: len(work.statements))
    each = "\n".join(f"{count} {text[:200]}" for text, count in Counter(least.statements).items())
    assert len(least.statements) <= STATEMENTS, each
    assert min(work.commits for work in runs) <= COMMITS, each


def test_an_idle_daemon_looks_at_its_database_about_twice_a_second(tmp_path: Path) -> None:
    work = count_idle_minute(settings_at(tmp_path))

    assert work.begins <= 130, Counter(work.statements)
