"""A pytest plugin: runs each failed test once more, alone, and tells failures from flaky tests.

A test that passes alone is flaky: the closing lines name it, and the run still succeeds as long as
there are at most `FLAKY_ALLOWED` of them. One that fails again has failed. `make test` loads this
with `-p`; the processes that run a test again do not, so that nothing is run a third time.
"""

import re
import subprocess
import sys
from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter

FLAKY_ALLOWED = 3
# So many failures are no chance, and running them again would take long.
RERUN_AT_MOST = 20
# What xdist reports for a worker that died has none of these.
PHASES = frozenset({"setup", "call", "teardown"})
# The closing line of a run of one test that passed, and was not skipped.
PASSED = re.compile(r"^1 passed\b", re.MULTILINE)


def pytest_configure(config: pytest.Config) -> None:
    """Watch the process that reports, not the workers that it starts."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(RerunFailed(config), "rerun-failed-tests")


class RerunFailed:
    """Which tests failed, and which of them pass alone."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failed: dict[str, None] = {}
        # A module that cannot be collected, or a worker that died, is no test that could be flaky.
        self._broken = False
        self._flaky: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a test that failed, in whichever of its phases."""
        if not report.failed:
            return
        self._failed[report.nodeid] = None
        self._broken |= report.when not in PHASES

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember that something could not be collected."""
        self._broken |= report.failed

    # Innermost, so that the workers have ended by then and the summary is not yet written.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Run them again once nothing else runs, and let the exit code follow from that."""
        yield
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED:
            return
        if not 0 < len(self._failed) <= RERUN_AT_MOST or session.testscollected == 0:
            return
        self._flaky = [test for test in self._failed if self._passes_alone(test)]
        self._count_as_flaky()
        if self._broken:
            return
        if len(self._flaky) == len(self._failed) and len(self._flaky) <= FLAKY_ALLOWED:
            session.exitstatus = pytest.ExitCode.OK

    # Outermost, so that these lines come after all others but the closing one.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> Generator[None]:
        """Show why a flaky test failed, and name it."""
        yield
        for report in terminalreporter.stats.get("flaky", []):
            terminalreporter.write_sep("_", f"flaky: {report.nodeid}")
            report.toterminal(terminalreporter._tw)
        for test in self._flaky:
            terminalreporter.write_line(f"flaky: {test}")
        if len(self._flaky) > FLAKY_ALLOWED:
            terminalreporter.write_line(
                f"{len(self._flaky)} tests are flaky; at most {FLAKY_ALLOWED} may be."
            )

    def _passes_alone(self, test: str) -> bool:
        arguments = ["-n", "0", "-p", "no:randomly", "-q", "--no-header", test]
        command = [sys.executable, "-m", "pytest", *arguments]
        print(f"\nAgain, alone: {test}", flush=True)
        done = subprocess.run(
            command, cwd=self._config.rootpath, check=False, capture_output=True, text=True
        )
        print(done.stdout, done.stderr, sep="", flush=True)
        return done.returncode == 0 and PASSED.search(done.stdout) is not None

    def _count_as_flaky(self) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        assert isinstance(reporter, TerminalReporter)
        stats = reporter.stats
        for category in ("failed", "error"):
            reports = stats.pop(category, [])
            again = [report for report in reports if report.nodeid not in self._flaky]
            if again:
                stats[category] = again
            stats.setdefault("flaky", []).extend(r for r in reports if r.nodeid in self._flaky)
        if not stats["flaky"]:
            del stats["flaky"]
        # The colour of the closing line is that of the worst outcome.
        reporter._set_main_color()
