"""Status, phases and contract of a flow are read from what is in its scope."""

from typing import Any

import pytest

from tests.support.factories import NOW, make_run
from tests.support.playbook_factories import ENFORCED, manifest
from understudy.playbooks.flow import (
    Attestation,
    FlowReading,
    FlowRecord,
    FlowScope,
    FlowStatus,
    PhaseStatus,
    StartedTool,
    read_flow,
    status_before_contract,
)
from understudy.playbooks.manifest import check_manifest
from understudy.playbooks.model import RELEASE, STARTABLE, PlaybookRef, ReleaseStatus
from understudy.playbooks.start import procedure, tool_rules
from understudy.runs.model import RunStatus
from understudy.sessions.tasks import Task, TaskStatus

R, T, F = RunStatus, TaskStatus, FlowStatus
REVIEW = Attestation(kind="manual", id="review", given_by="eve", given_at_ms=NOW)


def flow(*evidence: Attestation) -> FlowRecord:
    return FlowRecord(
        flow_id="f1",
        playbook_ref=PlaybookRef(playbook_id="release", version="1", digest="d"),
        session_id="s1",
        run_id="r0",
        input_digest="i",
        correlation_nonce="n",
        created_by="alice",
        created_at_ms=NOW,
        updated_at_ms=NOW,
        evidence_refs=evidence,
    )


def task(status: TaskStatus) -> Task:
    return Task(
        task_id=f"tsk_{status}",
        session_id="s1",
        number=1,
        title="x",
        created_by="alice",
        created_at_ms=NOW,
        updated_at_ms=NOW,
        status=status,
    )


def scope(*statuses: RunStatus | TaskStatus, **fields: Any) -> FlowScope:
    runs = tuple(
        make_run(run_id=f"r{number}", status=status)
        for number, status in enumerate(each for each in statuses if isinstance(each, RunStatus))
    )
    tasks = tuple(task(each) for each in statuses if isinstance(each, TaskStatus))
    return FlowScope(runs=runs, tasks=tasks, **fields)


def reading(found: FlowScope, *evidence: Attestation, **fields: Any) -> FlowReading:
    read, _ = check_manifest(manifest(**fields), ())
    assert read is not None
    return read_flow(flow(*evidence), read, found)


STATUSES = (
    ((), F.UNKNOWN),
    ((R.COMPLETED, R.FAILED, R.CANCELLED), F.FAILED),
    ((R.COMPLETED, T.FAILED), F.FAILED),
    ((R.COMPLETED, R.CANCELLED, R.INTERRUPTED), F.CANCELLED),
    ((R.COMPLETED, T.CANCELLED), F.CANCELLED),
    ((R.COMPLETED, R.INTERRUPTED, R.RUNNING), F.INTERRUPTED),
    ((R.WAITING_FOR_APPROVAL, R.RUNNING), F.WAITING),
    ((R.COMPLETED, R.WAITING_FOR_USER_QUESTION), F.WAITING),
    ((R.RUNNING, T.BLOCKED), F.WAITING),
    ((R.QUEUED,), F.RUNNING),
    ((R.COMPLETED, T.PENDING), F.RUNNING),
    ((R.COMPLETED, T.IN_PROGRESS), F.RUNNING),
    ((R.COMPLETED, R.COMPLETED, T.COMPLETED), F.SUCCEEDED),
)


@pytest.mark.parametrize(("statuses", "wanted"), STATUSES)
def test_the_first_that_applies_is_the_status(
    statuses: tuple[RunStatus | TaskStatus, ...], wanted: FlowStatus
) -> None:
    assert status_before_contract(scope(*statuses)) is wanted


def test_missing_evidence_fails_a_flow_until_it_comes() -> None:
    done = scope(R.COMPLETED)
    before = reading(done)
    assert (before.status, before.contract.passed) == (F.FAILED, False)
    build, review = before.phase_states
    assert (build.status, review.status) == (PhaseStatus.SATISFIED, PhaseStatus.BLOCKED)
    [missing] = review.missing_evidence
    assert missing.name == ("manual", "review")
    lacking = {each.name: each.details for each in before.contract.checks if not each.passed}
    assert lacking == {"phase:review:evidence": ("manual:review",)}
    after = reading(done, REVIEW)
    assert (after.status, after.contract.passed) == (F.SUCCEEDED, True)
    assert reading(scope(R.RUNNING)).phase_states[1].status is PhaseStatus.PENDING


def test_what_is_in_scope_is_evidence_by_itself() -> None:
    needed = [{"kind": "agent", "id": "default"}, {"kind": "run", "id": "r1"}]
    fields: dict[str, Any] = {"phases": [], "required_evidence": needed}
    assert reading(scope(R.COMPLETED, R.COMPLETED), **fields).status is F.SUCCEEDED
    alone = reading(scope(R.COMPLETED), **fields)
    assert alone.contract.checks[0].details == ("run:r1",)


def test_a_tool_that_slipped_through_is_named() -> None:
    used = scope(R.COMPLETED, tool_uses=(StartedTool(session_id="child", tool="shell"),) * 2)
    judged = reading(used, phases=[], tools=ENFORCED)
    assert judged.status is F.FAILED
    assert judged.contract.checks[-1].details == ("child:shell",)
    assert reading(used, phases=[], tools={"deny": ["shell"]}).status is F.SUCCEEDED
    only = {"enforce": True, "allow": ["read_*"]}
    assert reading(used, phases=[], tools=only).contract.checks[-1].details == ("child:shell",)


RULES: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"deny": ["shell"]}, []),
    ({"enforce": True, "deny": ["shell", "git/*"]}, ["shell", "git/*"]),
    ({"enforce": True, "allow": ["read_file"]}, ["shell", "tasks", "*/*"]),
    ({"enforce": True, "allow": ["git/log", "tasks"]}, ["read_file", "shell", "git/push"]),
    ({"enforce": True, "allow": ["*"], "deny": ["git/push"]}, ["git/push"]),
)


@pytest.mark.parametrize(("tools", "denied"), RULES)
def test_an_enforced_policy_becomes_deny_rules(tools: dict[str, Any], denied: list[str]) -> None:
    names = ("read_file", "shell", "tasks", "git/log", "git/push")
    read, _ = check_manifest(manifest(tools=tools), names)
    assert read is not None
    rules = tool_rules(read, names)
    assert [rule.tool for rule in rules] == denied
    assert {str(rule.decision) for rule in rules} <= {"deny"}


def test_a_run_is_told_the_procedure() -> None:
    read, _ = check_manifest(manifest(roles=[{"role_id": "builder", "purpose": "builds\nIt"}]), ())
    assert read is not None
    told = procedure(read, {"branch": "main"})
    assert "Objective: Ship what was built." in told
    assert "Phase 1, build: Build it.:\n- done when: it builds" in told
    assert "- evidence: manual:review" in told
    assert "- builder: builds It" in told
    assert '{"branch": "main"}' in told
    assert told.endswith("The request:")


def test_a_revoked_version_stays_revoked() -> None:
    assert RELEASE.terminal == {ReleaseStatus.REVOKED}
    for one in STARTABLE:
        assert all(RELEASE.allows(one, other) for other in STARTABLE)
    assert not any(RELEASE.allows(each, ReleaseStatus.DRAFT) for each in STARTABLE)
