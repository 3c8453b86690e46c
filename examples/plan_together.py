"""Three agents and a person plan in a channel, share the work as tasks, and carry out a playbook.

Offline and by itself: it starts a daemon in a folder of its own, whose model is a script, and prints
what happens. `python examples/plan_together.py`
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONFIG = 'default_route = "demo"\n[routes.demo]\nprovider = "scripted"\nscript = "script.toml"\n'
AGENTS = {
    "ann": "I ask five people what they miss.",
    "bob": "I write the announcement once Ann is done.",
    "cid": "I check it before anybody reads it.",
}
TASKS = {
    "survey": ("ann", [], "Survey what people miss", "Four of five people miss an offline mode."),
    "draft": ("bob", ["survey"], "Write the announcement", "Announcement: it works offline now."),
    "check": ("cid", ["draft"], "Check the announcement", "It says what the survey asked for."),
}
PLAYBOOK = {
    "playbook_id": "announce",
    "version": "1",
    "title": "Announce a feature",
    "objective": "Tell people what is new, and nothing that is not so.",
    "phases": [
        {"phase_id": "publish", "objective": "Put it where people read it."},
        {
            "phase_id": "review",
            "objective": "A person reads it.",
            "required_evidence": [{"kind": "manual", "id": "review"}],
        },
    ],
    "acceptance_criteria": ["a person has read it"],
    "tools": {"enforce": True, "deny": ["shell", "fetch_url"]},
}


def script() -> str:
    """What the model says: in the channel, about each task, and in the playbook."""
    rules = []
    for name, words in AGENTS.items():
        said = json.dumps({"content": words})
        rules.append(
            f"[[reply]]\nwhen = '/You are {name} /'\nsteps = [\n"
            f"  {{ tool_calls = [{{ name = 'emit_output', arguments = '{said}' }}] }},\n"
            f"  {{ text = 'I have spoken.' }},\n]\n"
        )
    for _, _, title, output in TASKS.values():
        rules.append(f"[[reply]]\nwhen = '/The task:\\s+{title}/'\ntext = '{output}'\n")
    rules.append("[[reply]]\nwhen = 'the playbook announce'\ntext = 'It is published.'\n")
    return "\n".join(rules)


class Daemon:
    """A daemon in a folder of its own."""

    def __init__(self, home: Path) -> None:
        (home / "config.toml").write_text(CONFIG)
        (home / "script.toml").write_text(script())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        command = [sys.executable, "-m", "understudy.cli.main", "serve"]
        with (home / "log").open("w") as log:
            self.process = subprocess.Popen(
                [*command, "--home", str(home), "--bind", self.address], stdout=log, stderr=log
            )

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer of the API, as JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(
            f"http://{self.address}{path}", data, headers, method=method
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def is_ready(self) -> bool:
        """Whether it takes work."""
        try:
            return bool(self.call("GET", "/v1/sessions"))
        except (urllib.error.URLError, ConnectionError):
            return False


def wait_for(reached: Callable[[], object], what: str, seconds: float = 120) -> None:
    """Wait until something has happened."""
    end = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.1)


def plan(daemon: Daemon) -> None:
    """A person asks, and each agent says what it does."""
    members: list[dict[str, object]] = [{"member_id": "local", "member_kind": "human_actor"}]
    for name in AGENTS:
        daemon.call("POST", "/v1/sessions", {"session_id": name})
        members.append({"member_id": name, "member_kind": "session", "display_name": name})
    members[0]["display_name"] = "You"
    room = {"channel_id": "launch", "title": "Launch", "members": members}
    daemon.call("POST", "/v1/channels", room)
    path = "/v1/channels/launch/messages"
    daemon.call("POST", path, {"content": "What does each of you do for the launch?"})
    wait_for(lambda: len(daemon.call("GET", path)["items"]) > len(AGENTS), "the agents to speak")
    for each in daemon.call("GET", path)["items"]:
        print(f"{each['sender']['display_name']}: {each['content']}")


def share_out(daemon: Daemon) -> str:
    """The work as tasks, each started when those before it are done; the last run is evidence."""
    members = [{"member_id": name} for name in AGENTS]
    project = {"project_id": "launch", "display_name": "Launch", "members": members}
    daemon.call("POST", "/v1/projects", project)
    daemon.call("POST", "/v1/projects/launch/channels", {"channel_id": "launch"})
    tasks = "/v1/projects/launch/tasks"
    for task_id, (who, after, title, _) in TASKS.items():
        body = {"project_task_id": task_id, "title": title, "blocked_by": after}
        daemon.call("POST", tasks, {**body, "assignment": {"assignee_member_id": who}})
    run_id = ""
    for task_id in TASKS:
        run_id = daemon.call("POST", f"{tasks}/{task_id}/start", {})["run_id"]
        path = f"{tasks}/{task_id}"
        wait_for(lambda path=path: "output" in daemon.call("GET", path), task_id)  # type: ignore[misc]
        done = daemon.call("GET", path)
        print(f"task {task_id} ({done['assignee_member_id']}) {done['status']}: {done['output']}")
    return run_id


def carry_out(daemon: Daemon, proof: str) -> str:
    """A playbook, released because of a run, and a flow that succeeds once a person has reviewed it."""
    made = daemon.call("POST", "/v1/playbooks", {"manifest": PLAYBOOK})["selected_version"]
    ref = {"version": made["version"], "digest": made["digest"]}
    evidence = [{"kind": "run", "id": proof}]
    daemon.call("POST", "/v1/playbooks/announce/publish", {**ref, "evidence_refs": evidence})
    body = {
        "playbook_ref": {"playbook_id": "announce", **ref},
        "session_id": "bob",
        "request": {"content": "Publish the announcement."},
    }
    flow = daemon.call("POST", "/v1/flows", body)["flow_id"]
    path = f"/v1/flows/{flow}"
    wait_for(lambda: "completed_at_ms" in daemon.call("GET", path), "the flow")
    before = daemon.call("GET", path)
    missing = [told for check in before["contract"]["checks"] for told in check["details"]]
    print(f"flow {before['status']}, missing {', '.join(missing)}")
    review = {"kind": "manual", "id": "review", "description": "I read it."}
    after = daemon.call("POST", f"{path}/evidence", {"evidence_refs": [review]})
    by = after["evidence_refs"][0]["given_by"]
    print(f"flow {after['status']}, reviewed by {by}")
    return str(after["status"])


def main() -> int:
    """The whole story; 0 when the flow has succeeded."""
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(Path(folder))
        try:
            wait_for(daemon.is_ready, "the daemon")
            plan(daemon)
            return 0 if carry_out(daemon, share_out(daemon)) == "succeeded" else 1
        finally:
            daemon.process.terminate()
            daemon.process.wait()


if __name__ == "__main__":
    sys.exit(main())
