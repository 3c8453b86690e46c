"""The pages about project tasks and playbooks say what the code says."""

import re
from pathlib import Path

from understudy.playbooks.flow import DAEMON_KINDS, FlowStatus
from understudy.playbooks.manifest import PlaybookManifest
from understudy.playbooks.model import RELEASE
from understudy.project_tasks.model import MAX_DEPENDENCIES, MAX_TASKS, STATUS_OF_RUN
from understudy.project_tasks.start import MAX_OUTPUT_BYTES, MAX_OUTPUTS_BYTES
from understudy.project_tasks.tool import SAID_BY_AGENTS, ProjectTaskAction

CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts"
TASKS = (CONCEPTS / "project-tasks.md").read_text()
PLAYBOOKS = (CONCEPTS / "playbooks-and-flows.md").read_text()


def test_the_machine_of_releases_is_drawn_as_it_is() -> None:
    assert re.findall(r"```mermaid\n(.*?)\n```", PLAYBOOKS, re.DOTALL) == [RELEASE.mermaid()]


def test_every_status_of_a_run_and_what_it_means_is_told() -> None:
    rows = dict(re.findall(r"^\| (`.+`) \| `(\w+)` \|$", TASKS, re.MULTILINE))
    told = {run: task for runs, task in rows.items() for run in re.findall(r"`(\w+)`", runs)}
    assert told == {str(run): str(task) for run, task in STATUS_OF_RUN.items()}


def test_limits_and_actions_are_told() -> None:
    assert f"up to {MAX_DEPENDENCIES} others" in TASKS
    assert f"up to {MAX_TASKS:,} tasks" in TASKS
    assert f"{MAX_OUTPUT_BYTES // 1024} KiB each" in TASKS
    assert f"{MAX_OUTPUTS_BYTES // 1024} KiB in all" in TASKS
    for action in ProjectTaskAction:
        assert f"| `{action}` |" in TASKS
    for status in SAID_BY_AGENTS:
        assert f"`{status}`" in TASKS


def test_fields_kinds_and_statuses_are_told() -> None:
    named = set(re.findall(r"`(\w+)", PLAYBOOKS))
    assert set(PlaybookManifest.model_fields) <= named
    assert set(DAEMON_KINDS) <= named
    assert {str(each) for each in FlowStatus if each is not FlowStatus.UNKNOWN} <= named
