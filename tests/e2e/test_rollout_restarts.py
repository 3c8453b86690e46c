"""A promoted skill through kills and starts: record, files and catalogue always say the same."""

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import wait_for
from tests.support.model_scripts import play
from understudy.testing.answers import call

pytestmark = pytest.mark.e2e

NAME = "learning:sched"
MARKER = "SCHED_OK"
ONE = f"/v1/learning-skills/{NAME}"
ASKED = {"skill_name": NAME, "instructions": f"Reply with exactly {MARKER}."}
WORKSPACE = {"kind": "workspace", "id": "default"}


class Theatre:
    """A daemon with one procedure, and what everybody can see of its skill."""

    def __init__(self, live: DaemonWithModel) -> None:
        self.daemon = live.daemon
        self.model = live.model
        self.daemon.post("/v1/sessions", {"session_id": "s1"})
        proposed = {"scope": WORKSPACE, "kind": "procedure", "content": "Check the scheduler."}
        made = self.daemon.post("/v1/learning-candidates", proposed)
        published = self.daemon.post(
            f"/v1/learning-candidates/{made['candidate_id']}/publish", {"publish_tier": "active"}
        )
        self.learning_id: str = published["learning_id"]

    @property
    def folder(self) -> Path:
        return self.daemon.home / "skills" / "procedural"

    def promote(self, status: str | None = None) -> Any:
        body = ASKED if status is None else {**ASKED, "status": status}
        return self.daemon.post(f"/v1/learnings/{self.learning_id}/promote-skill", body)

    def show(self, kind: str) -> None:
        self.model.rule = lambda _: MARKER
        run = self.daemon.run("s1", "check")
        body = {"kind": kind, "run_id": run["run_id"], "expected_output_contains": MARKER}
        self.daemon.post(f"{ONE}/rollout-result", body)

    def use(self) -> str:
        """What a run is told that uses the skill."""
        using = call("use_skill", {"name": NAME})
        self.model.rule = play({"go": [using, "end"], "Carry out": [MARKER]})
        assert self.daemon.run("s1", "go")["status"] == "completed"
        last = [seen for seen in self.model.requests if seen.last_user.startswith("go")][-1]
        return [turn.text for turn in last.turns if turn.role == "tool"][-1]

    def check(self, status: str) -> None:
        """Record, files and catalogue agree on a stage."""
        record = self.daemon.get(ONE)
        assert record["status"] == status
        is_active = status == "active"
        files = sorted(str(it.relative_to(self.folder)) for it in self.folder.rglob("*.*"))
        own = [f"{self.learning_id}/{it}" for it in ("SKILL.md", "agents/understudy.yaml")]
        assert files == (own if is_active else [])
        assert (NAME in self.listed()) is is_active
        [event] = record["lifecycle_events"][-1:]
        assert event["to_status"] == status
        assert self.health() == []

    def listed(self) -> set[str]:
        everywhere = self.daemon.get("/v1/skills")["items"]
        here = self.daemon.get("/v1/sessions/s1/skills")["items"]
        found = {it["slug"] for it in everywhere} & {it["slug"] for it in here}
        assert (NAME in found) is (NAME in {it["slug"] for it in (*everywhere, *here)})
        return found

    def health(self) -> list[str]:
        warnings = self.daemon.get("/v1/status")["health"]["warnings"]
        return [it["code"] for it in warnings if it["code"].startswith("rollout_")]

    def killed(self) -> None:
        self.daemon.kill()
        self.daemon.start(60)


@pytest.fixture
def theatre(live: DaemonWithModel) -> Iterator[Theatre]:
    yield Theatre(live)
    live.model.release()


@pytest.mark.timeout(400)
def test_every_stage_outlives_a_kill(theatre: Theatre) -> None:
    theatre.promote()
    theatre.killed()
    theatre.check("draft")

    theatre.show("verification")
    theatre.promote("verified")
    theatre.promote("canary")
    theatre.show("canary")
    theatre.promote("active")
    theatre.check("active")
    theatre.killed()
    theatre.check("active")

    theatre.daemon.post(f"{ONE}/revoke", {})
    theatre.killed()
    theatre.check("revoked")

    theatre.daemon.post(f"{ONE}/rollback", {})
    theatre.check("active")
    drift_is_refused_and_mended(theatre)
    killed_while_it_changes(theatre)


def drift_is_refused_and_mended(theatre: Theatre) -> None:
    own = theatre.folder / theatre.learning_id
    whole = (own / "SKILL.md").read_text()
    (own / "SKILL.md").write_text(whole.replace(MARKER, "something else"))
    stray = theatre.folder / "learning-99"
    stray.mkdir()
    (stray / "SKILL.md").write_text("of nobody")

    assert "not as its record says" in theatre.use()
    assert theatre.daemon.get("/v1/sessions/s1/sidechains")["items"] == []

    theatre.killed()
    theatre.check("active")
    assert (own / "SKILL.md").read_text() == whole
    spawn = json.loads(theatre.use())["spawn"]
    assert (spawn["status"], spawn["final_output"]) == ("completed", MARKER)


def killed_while_it_changes(theatre: Theatre) -> None:
    """The daemon dies while it is being asked; whatever it had done by then is whole."""

    def ask(path: str) -> None:
        with suppress(httpx2.TransportError):
            theatre.daemon.request("POST", f"{ONE}/{path}", json={})

    for path in ("revoke", "rollback"):
        asking = threading.Thread(target=ask, args=[path])
        asking.start()
        asking.join(0.02)
        theatre.killed()
        asking.join()
        theatre.check(theatre.daemon.get(ONE)["status"])


@pytest.mark.timeout(120)
def test_a_skill_that_people_put_there_under_its_name_leaves_the_daemon_serving(
    theatre: Theatre,
) -> None:
    theatre.promote()
    theatre.show("verification")
    theatre.promote("verified")
    theatre.promote("canary")
    theatre.show("canary")
    before = theatre.promote("active")
    theatre.daemon.stop()
    mine = theatre.daemon.home.parent / "named" / "mine"
    mine.mkdir(parents=True)
    with (theatre.daemon.home / "config.toml").open("a") as config:
        config.write(f'\n[skills]\nroots = ["{mine.parent}"]\n')
    (mine / "SKILL.md").write_text(f"---\nname: {NAME}\ndescription: Mine\n---\nMine.\n")

    theatre.daemon.start(60)

    # The daemon may serve before it has seen all folders.
    wait_for(lambda: theatre.health() == ["rollout_shadowed"], 30, what="the name to be noticed")
    assert not (theatre.folder / theatre.learning_id).exists()
    after = theatre.daemon.get(ONE)
    assert (after["status"], after["digest"]) == ("active", before["digest"])
    offered = theatre.daemon.get("/v1/sessions/s1/skills")["items"]
    assert [it["origin"] for it in offered if it["name"] == NAME] == ["local"]
