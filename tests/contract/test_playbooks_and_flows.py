"""Playbooks are immutable and released with evidence; a flow is read from its runs; on both databases."""

from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, ALICE
from tests.support.playbook_factories import manifest
from tests.support.run_harness import Probe, RunHarness, texts
from tests.support.schedule_harness import PAGE, Died, Intake
from tests.support.sidechain_runs import WAIT, SidechainRuns, spawn
from understudy.core.errors import UnderstudyError
from understudy.core.page import PageRequest
from understudy.memory.texts import request_text
from understudy.playbooks.flow import FlowStatus
from understudy.playbooks.flows import FlowDetail, FlowService
from understudy.playbooks.manifest import PlaybookEvidence
from understudy.playbooks.model import PlaybookRef, PlaybookRelease, ReleaseStatus
from understudy.playbooks.service import PlaybookService
from understudy.playbooks.start import FlowStarter, NewFlow
from understudy.runs.model import Run, RunStatus
from understudy.runs.sidechain_tools import SpawnSidechain, WaitSidechain
from understudy.runs.submission import Submission
from understudy.sessions.service import SessionService
from understudy.sessions.task_service import TaskService
from understudy.sessions.task_tools import Tasks
from understudy.settings import Settings
from understudy.storage.unit import Unit
from understudy.testing.answers import call
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Approval

REVIEW = PlaybookEvidence(kind="manual", id="review")
PROVED = (PlaybookEvidence(kind="manual", id="dry-run"),)
PROBE = {"enforce": True, "deny": ["probe"]}


@dataclass
class Stage:
    """Playbooks, flows, and the runs that carry them out."""

    runs: SidechainRuns
    playbooks: PlaybookService
    starter: FlowStarter
    flows: FlowService

    def publish(self, status: ReleaseStatus = ReleaseStatus.ACTIVE, **fields: Any) -> PlaybookRef:
        made, _ = self.playbooks.create(ALICE, manifest(**fields))
        ref = made.selected_version.ref
        self.playbooks.publish(ADMIN, ref, status, PROVED)
        return ref

    def start(self, ref: PlaybookRef, text: str = "go", key: str | None = None, **more: Any) -> str:
        request = Submission(content=text, **more.pop("request", {}))
        wanted = NewFlow(playbook_ref=ref, session_id="s1", request=request, **more)
        self.runs.harness.clock.advance()
        return self.starter.start(ALICE, wanted, idempotency_key=key)

    async def play(self, ref: PlaybookRef, **more: Any) -> FlowDetail:
        flow_id = self.start(ref, **more)
        await self.runs.work()
        return self.flows.get(flow_id)


@pytest.fixture
async def stage(
    database: UnitsOnDatabase, settings: Settings, probe: Probe
) -> AsyncIterator[Stage]:
    clock, units = FrozenClock(), database.units
    listeners: list[Callable[[Unit, Run], None]] = []

    def ended(unit: Unit, run: Run) -> None:
        for each in listeners:
            each(unit, run)

    plain = RunHarness(units, settings, clock=clock, ending=(ended,))
    tasks = TaskService(units, clock)
    tools = (probe, Tasks(tasks), SpawnSidechain(plain.sidechains), WaitSidechain(plain.sidechains))
    harness = RunHarness(units, settings, tools=tools, clock=clock, ending=(ended,))
    flows = FlowService(
        units=units,
        clock=clock,
        tasks=tasks,
        cancel_run=harness.runs.cancel,
        tool_names=harness.registry.names,
    )
    listeners.append(flows.ended)
    names = harness.registry.names
    yield Stage(
        SidechainRuns(units, database.queued, harness),
        PlaybookService(units=units, clock=clock, tool_names=names),
        FlowStarter(units=units, clock=clock, intake=harness.intake, tool_names=names),
        flows,
    )
    await plain.providers.close()
    await harness.providers.close()


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(UnderstudyError) as problem:
        act()
    return problem.value.code


async def test_a_version_is_stored_once_and_never_changed(stage: Stage) -> None:
    made, is_new = stage.playbooks.create(ALICE, manifest())
    assert (is_new, made.selected_version.status) == (True, ReleaseStatus.DRAFT)
    again, is_new = stage.playbooks.create(ALICE, dict(reversed(manifest().items())))
    assert (again, is_new) == (made, False)
    edited = manifest(objective="Ship it.")
    assert refused(lambda: stage.playbooks.create(ALICE, edited)) == "playbook_version_exists"
    assert refused(lambda: stage.playbooks.create(ALICE, manifest(title=""))) == "manifest_invalid"
    assert stage.playbooks.get("release") == made


async def test_a_release_needs_evidence_and_the_right_digest(stage: Stage) -> None:
    ref = stage.playbooks.create(ALICE, manifest())[0].selected_version.ref
    publish = stage.playbooks.publish
    wrong = PlaybookRef(playbook_id="release", version="1", digest="0" * 64)
    active = ReleaseStatus.ACTIVE
    assert refused(lambda: publish(ADMIN, ref, active, ())) == "evidence_required"
    assert refused(lambda: publish(ADMIN, wrong, active, PROVED)) == "digest_mismatch"
    for status in (ReleaseStatus.DRAFT, ReleaseStatus.REVOKED):
        code = refused(lambda status=status: publish(ADMIN, ref, status, PROVED))  # type: ignore[misc]
        assert code == "status_not_published"
    nothing = PlaybookEvidence(kind="run", id="run_x")
    assert refused(lambda: publish(ADMIN, ref, active, (nothing,))) == "evidence_not_there"
    assert refused(lambda: stage.playbooks.get("other")) == "playbook_not_found"
    assert refused(lambda: stage.playbooks.get("release", "2")) == "version_not_found"


async def test_one_version_is_active(stage: Stage) -> None:
    stage.publish()
    stage.runs.harness.clock.advance()
    second = stage.publish(version="2")
    found = stage.playbooks.get("release")
    assert (found.active_version, found.latest_version) == ("2", "2")
    statuses: Callable[[PlaybookRelease], str] = lambda each: str(each.status)  # noqa: E731
    assert list(map(statuses, found.versions)) == ["active", "verified"]
    gone = stage.playbooks.revoke(ADMIN, second, "it was wrong")
    assert gone.selected_version.revoked_reason == "it was wrong"
    code = refused(lambda: stage.playbooks.publish(ADMIN, second, ReleaseStatus.CANARY, PROVED))
    assert code == "playbook_revoked"
    assert [each.playbook_id for each in stage.playbooks.page(PAGE).items] == ["release"]
    revoked = stage.playbooks.page(PAGE, status=ReleaseStatus.REVOKED)
    assert len(revoked.items) == 1
    for query, count in (("SHIP", 1), (second.digest, 1), ("nothing", 0)):
        assert len(stage.playbooks.page(PAGE, query=query).items) == count


async def test_a_flow_is_one_run_that_is_told_the_procedure(stage: Stage, fake: FakeModel) -> None:
    ref = stage.publish(inputs=[{"name": "branch", "required": True}])
    fake.queue("shipped")
    given = {"metadata": {"inputs": {"branch": "main"}, "mine": 1}}
    done = await stage.play(ref, text="Ship the branch.", request=given)
    assert done.run is not None
    run = done.run.run
    [asked] = texts(fake)
    assert "Objective: Ship what was built." in asked
    assert asked.endswith("The request:\nShip the branch.")
    assert run.input.metadata is not None
    marked = run.input.metadata["understudy_flow"]
    assert (marked["flow_id"], marked["digest"]) == (done.flow.flow_id, ref.digest)
    assert done.flow.correlation_nonce not in asked
    # The procedure is the operator's: only the request is the user's own.
    assert request_text(run) == "Ship the branch."
    assert (done.reading.status, done.reading.contract.passed) == (FlowStatus.FAILED, False)
    stage.flows.attest(ALICE, done.flow.flow_id, (REVIEW, REVIEW))
    reviewed = stage.flows.attest(ADMIN, done.flow.flow_id, (REVIEW,))
    assert reviewed.reading.status is FlowStatus.SUCCEEDED
    [attested] = reviewed.flow.evidence_refs
    assert (attested.given_by, reviewed.completed_at_ms) == ("alice", run.finished_at_ms)


async def test_only_what_is_released_can_be_started(stage: Stage) -> None:
    ref = stage.playbooks.create(ALICE, manifest())[0].selected_version.ref
    assert refused(lambda: stage.start(ref)) == "playbook_not_startable"
    for status in (ReleaseStatus.CANARY, ReleaseStatus.VERIFIED, ReleaseStatus.ACTIVE):
        stage.playbooks.publish(ADMIN, ref, status, PROVED)
        assert stage.start(ref).startswith("flw_")
    stage.playbooks.revoke(ADMIN, ref, None)
    assert refused(lambda: stage.start(ref)) == "playbook_not_startable"


async def test_a_start_is_checked(stage: Stage) -> None:
    ref = stage.publish(inputs=[{"name": "branch", "required": True}])
    good = {"metadata": {"inputs": {"branch": "main"}}}
    for more, code in (
        ({"request": {"metadata": {"understudy_flow": {}}}}, "metadata_reserved"),
        ({"request": {"metadata": [1]}}, "metadata_not_an_object"),
        ({"request": {"metadata": {"inputs": []}}}, "inputs_not_an_object"),
        ({}, "inputs_missing"),
        ({"request": good, "text": " "}, "input_empty"),
        ({"request": good, "flow_id": "a b"}, "invalid_id"),
        (
            {"request": good, "evidence_refs": (PlaybookEvidence(kind="run", id="x"),)},
            "evidence_not_attestable",
        ),
        ({"request": {**good, "provider": "nowhere"}}, "route_not_found"),
    ):
        given = dict(more)
        assert refused(lambda given=given: stage.start(ref, **given)) == code  # type: ignore[misc]
    other = PlaybookRef(playbook_id="release", version="1", digest="0" * 64)
    assert refused(lambda: stage.start(other, request=good)) == "digest_mismatch"
    assert stage.flows.page(PAGE).items == ()
    assert stage.runs.queued == []


async def test_the_route_of_the_playbook_is_a_default(stage: Stage) -> None:
    ref = stage.publish(runtime_defaults={"provider": "b", "model": "big"})
    routes = []
    for request in ({}, {"provider": "a"}, {"generation": {"model": "own"}}):
        detail = stage.flows.get(stage.start(ref, request=request))
        assert detail.run is not None
        routes.append((detail.run.run.route.route_id, detail.run.run.route.model))
    assert routes == [("b", "big"), ("a", "model-a"), ("b", "own")]


async def test_a_session_that_may_do_more_is_refused(stage: Stage) -> None:
    scope = {"skill_allow": ["deploy"]}
    ref = stage.publish(scopes={"required_capability_scope": scope})
    assert refused(lambda: stage.start(ref)) == "flow_scope_too_wide"
    sessions = SessionService(stage.runs.units, stage.runs.harness.clock, lambda _: True)
    sessions.set_capability_scope(ALICE, "s1", scope)
    assert stage.start(ref)


async def test_a_repeat_finds_the_same_flow(stage: Stage) -> None:
    ref = stage.publish()
    first = stage.start(ref, key="k", flow_id="mine")
    assert stage.start(ref, key="k", flow_id="mine") == stage.start(ref, flow_id="mine") == first
    assert refused(lambda: stage.start(ref, text="other", flow_id="mine")) == "flow_exists"
    assert refused(lambda: stage.start(ref, text="other", key="k")) == "idempotency_conflict"
    assert len(stage.runs.runs_of("s1")) == 1

    with ThreadPoolExecutor(3) as pool:
        again = set(pool.map(lambda _: stage.start(ref, flow_id="other"), range(3)))
    assert again == {"other"}
    assert len(stage.runs.runs_of("s1")) == 2


async def test_what_dies_in_the_middle_of_a_start_leaves_nothing(stage: Stage) -> None:
    ref, ours = stage.publish(), stage.starter.intake

    def die() -> None:
        raise Died

    deadly = Intake(ours.clock, ours.routes, ours.defaults, on_take=die)
    starter = FlowStarter(
        units=stage.runs.units,
        clock=stage.runs.harness.clock,
        intake=deadly,
        tool_names=stage.starter.tool_names,
    )
    wanted = NewFlow(playbook_ref=ref, session_id="s1", request=Submission(content="go"))
    with pytest.raises(Died):
        starter.start(ALICE, wanted, idempotency_key="k")
    assert (stage.flows.page(PAGE).items, stage.runs.runs_of("s1")) == ((), ())
    flow_id = stage.starter.start(ALICE, wanted, idempotency_key="k")
    assert [each.flow.flow_id for each in stage.flows.page(PAGE).items] == [flow_id]


async def test_a_denied_tool_is_denied_in_sidechains_too(
    stage: Stage, fake: FakeModel, probe: Probe
) -> None:
    ref = stage.publish(phases=[], tools=PROBE)
    fake.queue(
        call("probe", {"label": "root"}),
        spawn("below"),
        WAIT,
        call("probe", {"label": "below"}),
        spawn("further below"),
        WAIT,
        call("probe", {"label": "further below"}),
        "done below",
        "done in the middle",
        "done",
    )
    done = await stage.play(ref)
    assert probe.labels == []
    assert "probe" not in str(fake.requests[0].body["tools"])
    assert len(done.reading.primitive_refs.session_ids) == 3
    assert (done.reading.status, done.reading.contract.passed) == (FlowStatus.SUCCEEDED, True)
    refusals = [
        str(result["content"])
        for run_id in done.reading.primitive_refs.run_ids
        for result in stage.runs.harness.results(run_id)
        if "denied" in str(result["content"])
    ]
    assert len(refusals) == 3
    assert all("the playbook release does not use it" in each for each in refusals)
    # Other runs of the session are under no such rule.
    fake.queue(call("probe", {"label": "later"}), "done")
    await stage.runs.harness.run("something else")
    assert probe.labels == ["later"]


async def test_a_good_answer_hides_no_failure_below(stage: Stage, fake: FakeModel) -> None:
    ref = stage.publish(phases=[])
    fake.queue(spawn("below"), WAIT)
    fake.fail(500)
    fake.queue("all good")
    done = await stage.play(ref)
    assert done.run is not None
    assert done.run.run.status is RunStatus.COMPLETED
    assert done.reading.status is FlowStatus.FAILED


async def test_what_a_child_does_later_is_no_part_of_it(stage: Stage, fake: FakeModel) -> None:
    ref = stage.publish(phases=[])
    fake.queue(spawn("below"), WAIT, "done below", "done")
    before = await stage.play(ref)
    assert before.reading.status is FlowStatus.SUCCEEDED
    [child] = stage.runs.children()
    stage.runs.harness.clock.advance(24 * 3600 * 1000)
    fake.fail(500)
    await stage.runs.harness.run("again", session_id=child)
    assert stage.flows.get(before.flow.flow_id) == before


async def test_tasks_and_approvals_are_in_its_scope(
    stage: Stage, fake: FakeModel, probe: Probe
) -> None:
    probe.approval = Approval.ALWAYS
    ref = stage.publish(phases=[])
    fake.queue(call("tasks", {"action": "create", "title": "Look"}), call("probe", {"label": "x"}))
    waiting = await stage.play(ref)
    assert waiting.reading.status is FlowStatus.WAITING
    [asked] = waiting.reading.primitive_refs.approval_ids
    [task] = waiting.reading.primitive_refs.task_ids
    in_scope = PlaybookEvidence(kind="approval", id=asked)
    assert stage.flows.attest(ALICE, waiting.flow.flow_id, (in_scope,)).flow.evidence_refs
    outside = PlaybookEvidence(kind="approval", id="apr_x")
    code = refused(lambda: stage.flows.attest(ALICE, waiting.flow.flow_id, (outside,)))
    assert code == "evidence_not_in_flow"

    cancelled = stage.flows.cancel(ALICE, waiting.flow.flow_id)
    assert cancelled.flow.cancelled_at_ms is not None
    await stage.runs.work()
    after = stage.flows.get(waiting.flow.flow_id)
    assert (after.reading.status, after.reading.primitive_refs.approval_ids) == (
        FlowStatus.CANCELLED,
        (asked,),
    )
    assert stage.flows.tasks.get("s1", task).status == "cancelled"
    assert stage.flows.cancel(ALICE, waiting.flow.flow_id) == after


async def test_cancelling_stops_a_child_that_works(stage: Stage, fake: FakeModel) -> None:
    ref = stage.publish(phases=[])
    fake.queue(spawn("below"), WAIT)
    flow_id = stage.start(ref)
    await stage.runs.work(only="s1")
    assert stage.flows.get(flow_id).reading.status in (FlowStatus.RUNNING, FlowStatus.WAITING)
    stage.flows.cancel(ALICE, flow_id)
    await stage.runs.work()
    after = stage.flows.get(flow_id)
    assert after.reading.status is FlowStatus.CANCELLED
    assert after.completed_at_ms is not None


async def test_cancelling_reaches_a_child_that_waits_for_a_person(
    stage: Stage, fake: FakeModel, probe: Probe
) -> None:
    probe.approval = Approval.ALWAYS
    ref = stage.publish(phases=[])
    fake.queue(spawn("below"), WAIT, call("probe", {"label": "x"}))
    waiting = await stage.play(ref)
    assert waiting.reading.status is FlowStatus.WAITING
    [asked] = waiting.reading.primitive_refs.approval_ids
    stage.flows.cancel(ALICE, waiting.flow.flow_id)
    await stage.runs.work()
    after = stage.flows.get(waiting.flow.flow_id)
    assert after.reading.status is FlowStatus.CANCELLED
    assert after.reading.primitive_refs.approval_ids == (asked,)
    assert probe.labels == []


async def test_flows_are_listed_by_what_they_came_to(stage: Stage, fake: FakeModel) -> None:
    ref = stage.publish(phases=[])
    fake.queue("done", "done", "done")
    for _ in range(3):
        await stage.play(ref)
    going_on = stage.start(ref)

    def ids(limit: int = 50, **only: Any) -> list[str]:
        found, after = [], PageRequest(limit=limit)
        while True:
            page = stage.flows.page(after, **only)
            found += [each.flow.flow_id for each in page.items]
            if page.next_cursor is None:
                return found
            after = PageRequest.parse(limit=limit, cursor=page.next_cursor)

    assert ids()[0] == going_on
    assert ids(limit=1) == ids()
    assert ids(status=FlowStatus.RUNNING) == [going_on]
    assert ids(limit=2, status=FlowStatus.SUCCEEDED) == ids()[1:]
    assert ids(session_id="s2") == ids(playbook_id="other") == []
    with stage.runs.units.read() as unit:
        entries = unit.audit.page(PAGE, resource="flows", actor=None).items
    assert {each.action for each in entries} == {"flows.start"}
