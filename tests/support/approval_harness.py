"""A run harness whose tools need people, and the person who answers."""

from typing import Any

from tests.support.factories import ALICE
from tests.support.run_harness import Probe, RunHarness
from understudy.runs.answers import QuestionAnswer as Chosen
from understudy.runs.answers import QuestionResolution
from understudy.runs.approvals import ApprovalService, Resolution
from understudy.runs.model import Run
from understudy.runs.open_requests import RunPlace
from understudy.runs.questions import QuestionService
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel

QUESTION = {
    "questions": [
        {
            "id": "q1",
            "question": "Which colour?",
            "options": [{"id": "o1", "label": "red"}, {"id": "o2", "label": "blue"}],
        }
    ]
}


class Approver:
    """A person who sees what runs ask, and answers."""

    def __init__(self, harness: RunHarness) -> None:
        self.harness = harness
        self.approvals = ApprovalService(harness.units, harness.clock, self._check)
        self.questions = QuestionService(harness.units, harness.clock)

    def _check(self, name: str, arguments: Any) -> None:
        self.harness.registry.check(name, arguments)

    def asked(self, run_id: str) -> list[str]:
        return [request.request_id for request in self.harness.runs.get(run_id).pending]

    def allow(self, run_id: str, *ids: str, key: str | None = None, **more: Any) -> Run:
        batch = [Resolution(request_id=each, behavior="allow", **more) for each in ids]
        return self.approvals.resolve(
            ALICE, RunPlace(run_id=run_id), batch, idempotency_key=key
        ).run

    def deny(self, run_id: str, request_id: str, reason: str) -> Run:
        denial = Resolution(request_id=request_id, behavior="deny", reason=reason)
        return self.approvals.resolve(ALICE, RunPlace(run_id=run_id), [denial]).run

    def answer(self, run_id: str, request_id: str, *options: str, **more: Any) -> Run:
        answers = (Chosen(question_id="q1", selected_option_ids=options),) if options else ()
        resolution = QuestionResolution(request_id=request_id, answers=answers, **more)
        return self.questions.resolve(ALICE, RunPlace(run_id=run_id), resolution).run


class ApprovalRuns(RunHarness):
    """A run harness whose probe needs approval and runs at most once, and which can ask."""

    @property
    def calls(self) -> list[str]:
        """What the probe was called with."""
        probe = self.tools[0]
        assert isinstance(probe, Probe)
        return probe.labels


async def held(harness: RunHarness, fake: FakeModel, *labels: str) -> str:
    """A run that waits for the approval of some calls."""
    calls = [FakeCall(name="probe", arguments={"label": label}) for label in labels or ("x",)]
    fake.queue(Answer(calls=tuple(calls)))
    run_id = harness.submit()
    await harness.execute(run_id)
    return run_id


async def asking(harness: RunHarness, fake: FakeModel, **more: Any) -> str:
    fake.queue(call("ask_user", {**QUESTION, **more}))
    run_id = harness.submit()
    await harness.execute(run_id)
    return run_id
