"""A daemon with skills, and the people and agents that a test meets there as a stranger would."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2

from tests.support.daemon import TERMINAL, DaemonProcess, wait_for
from tests.support.model_scripts import play
from tests.support.rpc import Rpc, rpc
from tests.support.skill_texts import ALL, MANIFEST, NUMBERS, Call, Result, Told, packed, skill_md
from understudy.testing.answers import SeenRequest, call
from understudy.testing.fake_model import FakeModel

ADMIN_TOKEN = "und-" + "first-of-all"


@dataclass(slots=True)
class SkillDaemon:
    """One daemon, its model, and everybody who calls it."""

    daemon: DaemonProcess
    model: FakeModel
    client: httpx2.Client
    database_url: str | None = None
    admin: "Person" = field(init=False)

    def __post_init__(self) -> None:
        self.daemon.token = ADMIN_TOKEN
        self.admin = Person(self, "admin", ADMIN_TOKEN)

    @property
    def has_files(self) -> bool:
        """Whether bundles lie as files in the store, and not in the database."""
        return self.database_url is None

    @property
    def store(self) -> Path:
        """Where bundles lie, on a machine that keeps them as files."""
        return self.daemon.home / "skills-store"

    @property
    def trash(self) -> Path:
        """Where deleted ones lie."""
        return self.store / ".trash"

    @property
    def workspace(self) -> Path:
        """The agents' working directory."""
        return self.daemon.home / "workspace"

    def bytes_of(self, slug: str, number: int, path: str = MANIFEST) -> bytes:
        """A file of a version: from the disk where it lies there, else as it is exported."""
        if self.has_files:
            return (self.store / slug / str(number) / path).read_bytes()
        answer = self.admin.call("GET", f"{ALL}/{slug}/files/{path}?version={number}")
        content: str = answer.json()["content"]
        return content.encode()

    def person(self, name: str, role: str) -> "Person":
        """Somebody new, with a token of their own."""
        user_id = f"{name}-{next(NUMBERS)}"
        made = self.admin.ok("POST", "/v1/tokens", {"user_id": user_id, "role": role})
        return Person(self, user_id, made["token"])

    def agent(self, kind: str = "predefined", **switches: Any) -> str:
        """A new agent."""
        agent_id = f"agent-{next(NUMBERS)}"
        body = {
            "agent_id": agent_id,
            "agent_type": kind,
            "max_tool_iterations": 20,
            "other_config": switches,
        }
        self.admin.ok("POST", "/v1/agents", body)
        return agent_id

    def folder(self, files: Mapping[str, str | bytes]) -> str:
        """A new folder in the workspace, by its name."""
        name = f"folder-{next(NUMBERS)}"
        for path, data in files.items():
            target = self.workspace / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data.encode() if isinstance(data, str) else data)
        return name


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who calls with their own token, or with none."""

    skill_daemon: SkillDaemon
    user_id: str
    token: str | None

    def call(self, method: str, path: str, body: object = None, **options: Any) -> httpx2.Response:
        """One call, whatever its outcome."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= options.pop("headers", {})
        if body is not None:
            options["json"] = body
        return self.skill_daemon.client.request(method, path, headers=headers, **options)

    def ok(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        """What a call answers that succeeds."""
        answer = self.call(method, path, body, **options)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def get(self, path: str = "", **options: Any) -> Any:
        """What is there; a path without a slash in front is that of a skill."""
        return self.ok("GET", path if path.startswith("/") else f"{ALL}/{path}", **options)

    def status(self, method: str, path: str, body: object = None, **options: Any) -> int:
        """The status of a call; one that is refused answers a problem."""
        answer = self.call(method, path, body, **options)
        if not answer.is_success:
            assert answer.headers["content-type"] == "application/problem+json", answer.text
        return answer.status_code

    def problem(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        """What a call answers that is refused."""
        answer = self.call(method, path, body, **options)
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        problem = answer.json()
        assert {"type", "title", "status", "detail", "code", "domain"} <= set(problem)
        assert problem["status"] == answer.status_code
        return problem

    def create(self, content: str, **more: Any) -> Any:
        """A new skill, or the next version of one."""
        return self.ok("POST", ALL, {"content": content, **more})

    def own(self, name: str = "skill", **fields: str) -> Any:
        """A new skill of theirs, with a name that nobody else has."""
        return self.create(skill_md(f"{name} {next(NUMBERS)}", **fields))

    def patch(self, slug: str, find: str, replace: str, **more: Any) -> httpx2.Response:
        """A patch, whatever comes of it."""
        body = {"find": find, "replace": replace, **more}
        return self.call("POST", f"{ALL}/{slug}/patch", body)

    def upload(self, archive: bytes, **more: Any) -> httpx2.Response:
        """An upload, whatever comes of it."""
        files = {"file": ("skill.zip", archive, "application/zip")}
        return self.call("POST", f"{ALL}/upload", files=files, **more)

    def keep(self, files: Mapping[str, str | bytes]) -> Any:
        """What an upload of these files answers."""
        answer = self.upload(packed(files))
        assert answer.status_code == 201, answer.text
        return answer.json()

    def grant(self, slug: str, *, agent: str | None = None, user: str | None = None) -> None:
        """Let an agent or a user have a skill."""
        kind, body = ("agent", {"agent_id": agent}) if agent else ("user", {"user_id": user})
        assert self.status("POST", f"{ALL}/{slug}/grants/{kind}", body) == 201

    def revoke(self, slug: str, *, agent: str | None = None, user: str | None = None) -> None:
        """Take it from them."""
        kind, whom = ("agent", agent) if agent else ("user", user)
        assert self.status("DELETE", f"{ALL}/{slug}/grants/{kind}/{whom}") == 200

    def grants(self, slug: str) -> set[str]:
        """Who has a skill."""
        found = self.get(f"{slug}/grants")["items"]
        return {one.get("agent_id") or one["user_id"] for one in found}

    def listed(self, **narrowed: Any) -> set[str]:
        """The slugs of every skill that they are shown."""
        found: set[str] = set()
        cursor: str | None = None
        while True:
            params = {**narrowed, "limit": 200, **({"cursor": cursor} if cursor else {})}
            page = self.get(ALL, params=params)
            found |= {one["slug"] for one in page["items"]}
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    def session(self, agent: str, **fields: Any) -> str:
        """A new session of an agent."""
        body = {"session_id": f"s-{next(NUMBERS)}", "agent_id": agent, **fields}
        session_id: str = self.ok("POST", "/v1/sessions", body)["session_id"]
        return session_id

    def run(
        self,
        *calls: Call,
        agent: str = "default",
        session: str | None = None,
        words: str = "Please go on.",
    ) -> Told:
        """A run in which the model makes these calls, one after another."""
        session = session or self.session(agent)
        self.skill_daemon.model.rule = play({words: [call(name, given) for name, given in calls]})
        mark = len(self.skill_daemon.model.requests)
        run_id = self.ok("POST", f"/v1/sessions/{session}/runs", {"content": words})["run_id"]

        def ended() -> Any:
            view = self.get(f"/v1/runs/{run_id}")
            return view if view["status"] in TERMINAL else None

        view = wait_for(ended, 60, what=f"{run_id} to end")
        assert view["status"] == "completed", view
        asked = [
            seen
            for seen in self.skill_daemon.model.requests[mark:]
            if seen.last_user.startswith(words)
        ]
        return Told(
            results=self._results(session, run_id, asked[-1]),
            system=asked[0].system,
            tools=[each["function"]["name"] for each in asked[0].body["tools"]],
            session_id=session,
            run_id=run_id,
        )

    def _results(self, session: str, run_id: str, seen: SeenRequest) -> list[Result]:
        """What the model was told its calls came to, as the journal has them."""
        events = self.get(f"/v1/sessions/{session}/events", params={"limit": 200})["items"]
        kept = [it for it in events if it.get("run_id") == run_id and it["kind"] == "tool_result"]
        results = []
        for text, event in zip(_answers(seen), kept, strict=True):
            result = Result(text)
            result.is_error = event["data"]["status"] != "ok"
            results.append(result)
        return results

    def socket(self, **options: Any) -> AbstractContextManager[Rpc]:
        """A WebSocket on which they have said who they are."""
        return rpc(self.skill_daemon.daemon.url.replace("http", "ws"), self.token, **options)


@dataclass
class SkillUsers:
    """The people and agents of one test, each made when it is first met."""

    skill_daemon: SkillDaemon

    @cached_property
    def ann(self) -> Person:
        """An operator, who owns skills."""
        return self.skill_daemon.person("ann", "operator")

    @cached_property
    def bob(self) -> Person:
        """Another operator."""
        return self.skill_daemon.person("bob", "operator")

    @cached_property
    def root(self) -> Person:
        """An admin."""
        return self.skill_daemon.person("root", "admin")

    @cached_property
    def vic(self) -> Person:
        """A viewer."""
        return self.skill_daemon.person("vic", "viewer")

    @cached_property
    def nobody(self) -> Person:
        """Somebody without a token."""
        return Person(self.skill_daemon, "", None)

    @cached_property
    def learner(self) -> str:
        """A predefined agent with both switches on."""
        return self.skill_daemon.agent(self_evolve=True, skill_evolve=True, skill_nudge_interval=15)

    @cached_property
    def plain(self) -> str:
        """A predefined agent without switches."""
        return self.skill_daemon.agent()

    @property
    def people(self) -> Sequence[Person]:
        """Everybody who has a token."""
        return (self.ann, self.bob, self.root, self.vic)


def _answers(seen: SeenRequest) -> list[str]:
    """What the tools answered since the user spoke."""
    after = max(index for index, turn in enumerate(seen.turns) if turn.role == "user")
    return [turn.text for turn in seen.turns[after:] if turn.role == "tool"]
