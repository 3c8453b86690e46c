"""One of each thing that a path can name, so that calls get further than "there is none"."""

import re
from collections.abc import Callable, Mapping, Set
from itertools import count
from tempfile import mkdtemp
from typing import Any

from tests.api.skill_users import Person
from tests.support.factories import make_background_task, make_run
from tests.support.playbook_factories import manifest
from tests.support.skill_service_harness import skill_md

Made = Mapping[str, str]
Maker = Callable[[Person, Made], str]
_numbers = count(1)
SCOPE = {"kind": "workspace", "id": "default"}


def furniture(root: Person, path: str, without: Set[str] = frozenset()) -> dict[str, str]:
    """Something that is there for every name in a path, where we know how to make it."""
    made: dict[str, str] = {}
    for name in re.findall(r"{(\w+)}", path):
        if name in MAKERS.keys() - without:
            made[name] = MAKERS[name](root, made)
    return made


def _session(root: Person, made: Made) -> str:
    if "session_id" in made:
        return made["session_id"]
    return str(root.ok("POST", "/v1/sessions", {"session_id": f"s{next(_numbers)}"})["session_id"])


def _run(root: Person, made: Made) -> str:
    path = f"/v1/sessions/{_session(root, made)}/runs"
    return str(root.ok("POST", path, {"content": "hello"})["run_id"])


def _task(root: Person, made: Made) -> str:
    if "session_id" not in made:
        return _background_task(root, made)
    path = f"/v1/sessions/{made['session_id']}/tasks"
    return str(root.ok("POST", path, {"title": "X"})["task_id"])


def _background_task(root: Person, made: Made) -> str:
    """A record of one, as no operation starts any; at a daemon elsewhere there is none."""
    app: Any = getattr(root.client, "app", None)
    if app is None:
        return "bgt_none"
    run = make_run(_session(root, made))
    task = make_background_task(run, command=f"echo {next(_numbers)}")
    with app.state.services.resources.units.write() as unit:
        unit.runs.add(run)
        unit.background_tasks.add(task)
    return task.task_id


def _project_task(root: Person, made: Made) -> str:
    path = f"/v1/projects/{made['project_id']}/tasks"
    return str(root.ok("POST", path, {"title": "X"})["project_task_id"])


def _playbook(root: Person, _: Made) -> str:
    made = root.ok(
        "POST", "/v1/playbooks", {"manifest": manifest(playbook_id=f"pb{next(_numbers)}")}
    )
    return str(made["playbook_id"])


def _flow(root: Person, made: Made) -> str:
    playbook_id = _playbook(root, made)
    found = root.ok("GET", f"/v1/playbooks/{playbook_id}")["selected_version"]
    ref = {"version": found["version"], "digest": found["digest"]}
    evidence = [{"kind": "manual", "id": "x"}]
    root.ok("POST", f"/v1/playbooks/{playbook_id}/publish", {**ref, "evidence_refs": evidence})
    body = {
        "playbook_ref": {"playbook_id": playbook_id, **ref},
        "session_id": _session(root, made),
        "request": {"content": "go"},
    }
    return str(root.ok("POST", "/v1/flows", body)["flow_id"])


def _skill(root: Person, _: Made) -> str:
    content = skill_md(f"Skill {next(_numbers)}")
    return str(root.ok("POST", "/v1/skills", {"content": content})["id"])


def _trashed(root: Person, made: Made) -> str:
    return str(root.ok("DELETE", f"/v1/skills/{_skill(root, made)}")["trash_name"])


def _key(root: Person, _: Made) -> str:
    return str(root.ok("POST", "/v1/keys", {"name": f"Key {next(_numbers)}"})["key_id"])


def _skill_root(root: Person, _: Made) -> str:
    return str(root.ok("POST", "/v1/skills/roots", {"path": mkdtemp()})["root_id"])


def _candidate(root: Person, _: Made) -> str:
    said = {"scope": SCOPE, "kind": "fact", "content": f"Fact {next(_numbers)}."}
    return str(root.ok("POST", "/v1/learning-candidates", said)["candidate_id"])


def _learning(root: Person, made: Made) -> str:
    path = f"/v1/learning-candidates/{_candidate(root, made)}/publish"
    return str(root.ok("POST", path, {})["learning_id"])


def _promoted(root: Person, made: Made) -> str:
    said = {"scope": SCOPE, "kind": "procedure", "content": f"Step {next(_numbers)} comes first."}
    candidate = root.ok("POST", "/v1/learning-candidates", said)["candidate_id"]
    learning = root.ok("POST", f"/v1/learning-candidates/{candidate}/publish", {})["learning_id"]
    body = {"skill_name": f"promoted-{next(_numbers)}", "instructions": "Do it."}
    return str(root.ok("POST", f"/v1/learnings/{learning}/promote-skill", body)["skill_name"])


def _schedule(root: Person, made: Made) -> str:
    body = {
        "name": f"schedule-{next(_numbers)}",
        "target_session_id": _session(root, made),
        "cadence": {"type": "interval", "every_seconds": 3600},
        "request": {"content": "hello"},
    }
    return str(root.ok("POST", "/v1/schedules", body)["schedule_id"])


def _message(root: Person, made: Made) -> str:
    to = {"agent_id": made["agent_id"]} if "agent_id" in made else {}
    body = to or {"session_id": _session(root, made)}
    return str(root.ok("POST", "/v1/mailboxes", {**body, "content": "hello"})["message_id"])


def _made(path: str, field: str, **body: Any) -> Maker:
    return lambda root, _: str(root.ok("POST", path, body)[field])


def _always(value: str) -> Maker:
    return lambda *_: value


# What a path calls it, and how one is made. What is not here is only ever asked for in vain.
MAKERS: Mapping[str, Maker] = {
    "session_id": _session,
    "run_id": _run,
    "task_id": _task,
    "project_task_id": _project_task,
    "playbook_id": _playbook,
    "flow_id": _flow,
    "skill_id": _skill,
    "trash_name": _trashed,
    "root_id": _skill_root,
    "key_id": _key,
    "candidate_id": _candidate,
    "learning_id": _learning,
    "skill_name": _promoted,
    "schedule_id": _schedule,
    "message_id": _message,
    "agent_id": _always("default"),
    "user_id": _always("bob"),
    "route_id": _always("scripted"),
    "path": _always("SKILL.md"),
    "name": _always("SOUL.md"),
    "persona_id": _made("/v1/personas", "persona_id", soul="A"),
    "project_id": _made("/v1/projects", "project_id", display_name="X"),
    "token_id": _made("/v1/tokens", "token_id", user_id="eve", role="viewer"),
    "asset_id": _made("/v1/assets", "asset_id", file_name="a.txt", content_base64="YQ=="),
}
