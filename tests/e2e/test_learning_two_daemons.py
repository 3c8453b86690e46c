"""Two daemons on one PostgreSQL: what one proposes either reviews, once, and both tell of it."""

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.conftest import routes_to
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.learning_daemon import JUDGE, LearningDaemon, rule
from tests.support.postgres import MakeDatabase
from understudy.testing.answers import Answer
from understudy.testing.fake_model import FakeModel

pytestmark = [pytest.mark.e2e, pytest.mark.postgres]

COUNT = 30
# So slow that the other daemon looks for work meanwhile.
VERDICT = Answer(text='{"action": "publish_provisional", "reason": "fine"}', delay_s=0.15)


def test_two_daemons_review_each_candidate_once_and_share_what_is_learned(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url, config = make_database(), routes_to(model)
    one = DaemonProcess(tmp_path / "one", database_url=url, config=config).start()
    two = DaemonProcess(tmp_path / "two", database_url=url, config=config).start()
    with one, two:
        first, second = LearningDaemon(one, model), LearningDaemon(two, model)
        review_many(first, second)
        publish_and_tell(first, second)
        first.close()
        second.close()


def review_many(first: LearningDaemon, second: LearningDaemon) -> None:
    """Half of them are proposed to each, and a judge is asked of every one."""
    for learning_daemon in (first, second):
        learning_daemon.answer(JUDGE, lambda _: VERDICT)
    first.policy("enabled", rule("publish_provisional", kind="fact"), judge={})
    ids = [
        (first, second)[number % 2].propose(f"Berth {number} is taken.")["candidate_id"]
        for number in range(COUNT)
    ]
    done = wait_for(lambda: len(first.candidates(state="published")) == COUNT, 30, what="them all")

    assert done
    asked = Counter(it["candidate"]["candidate_id"] for it in first.asked(JUDGE))
    assert asked == Counter(ids)
    sources = [it["source_candidate_id"] for it in second.learnings(status="provisional")]
    assert sorted(sources) == sorted(ids)
    versions = {first.candidate(candidate_id)["version"] for candidate_id in ids}
    assert versions == {2}


def publish_and_tell(first: LearningDaemon, second: LearningDaemon) -> None:
    """A run on one is captured and reviewed; a person at the other publishes; prompts tell."""
    session = first.session("s1")
    first.policy("shadow", rule("publish_active", kind="fact"), capture={})
    run_id = first.run(session, "Fact: Project codename is Atlas.")["run_id"]
    [found] = wait_for(lambda: second.candidates(query=run_id), what="the candidate")

    review = second.reviewed(found["candidate_id"], "pending")["automation_review"]
    learning = second.publish(found["candidate_id"])

    assert review["action"] == "publish_active"
    assert (learning["status"], learning["policy_decision"]) == ("active", "manual")
    for learning_daemon in (first, second):
        assert learning_daemon.told(session, "What is the project codename?") == [
            learning["learning_id"]
        ]
    assert first.get(f"/v1/learnings/{learning['learning_id']}/lineage")["use_count"] == 2
