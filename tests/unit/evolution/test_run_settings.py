"""What holds for one run: written into its snapshot, read back, and never more than was written."""

import pytest

from tests.support.factories import make_run, make_session
from understudy.agents.switches import Switches
from understudy.evolution.run_settings import RunSettings, is_interactive, settings_in
from understudy.runs.model import RunKind, RunReports, RunRequest

ALL_ON = RunSettings(
    switches=Switches(self_evolve=True, skill_evolve=True, skill_nudge_interval=3),
    locale="vi",
    is_interactive=True,
    soul_version=3,
)


@pytest.mark.parametrize("settings", [RunSettings(), ALL_ON])
def test_what_is_kept_reads_as_it_was(settings: RunSettings) -> None:
    assert settings_in(RunReports(evolution=settings.record())) == settings


@pytest.mark.parametrize(
    "kept",
    [
        *[None, {}],
        {"self_evolve": "true", "skill_evolve": 1, "is_interactive": 1, "locale": 7},
        {"skill_nudge_interval": True, "locale": "tlh", "soul_version": "3"},
        {"soul_version": True},
    ],
)
def test_what_is_missing_or_malformed_switches_nothing_on(kept: dict[str, object] | None) -> None:
    assert settings_in(RunReports(evolution=kept)) == RunSettings()


@pytest.mark.parametrize("kind", RunKind)
def test_only_what_people_typed_is_interactive(kind: RunKind) -> None:
    typed = {RunKind.INPUT, RunKind.APPROVAL_RESUME, RunKind.USER_QUESTION_RESUME}

    assert is_interactive(make_run(kind=kind), make_session()) is (kind in typed)


@pytest.mark.parametrize(
    "source", ["cron", "Cron", " HEARTBEAT ", "schedule\n", "subagent", "Sub-Agent", "sub_agent"]
)
def test_nobody_sits_at_what_the_clock_or_an_agent_began_however_it_is_spelled(source: str) -> None:
    run = make_run(request=RunRequest(source_kind=source))

    assert not is_interactive(run, make_session())


def test_a_sidechain_and_a_caller_without_a_person_are_not() -> None:
    beat = make_run(request=RunRequest(source_kind="heartbeat"))

    assert not is_interactive(make_run(), make_session(parent_session_id="above"))
    assert not is_interactive(beat, make_session())
    assert not is_interactive(make_run(trial_id="trl_1"), make_session())
    assert is_interactive(make_run(), make_session())
