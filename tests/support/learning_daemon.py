"""A daemon that learns, as a stranger meets it: over HTTP, and in what its models are sent."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import httpx2

from tests.support.daemon import PATIENCE_S, DaemonProcess, wait_for
from tests.support.run_memory_reads import LEARNED, section_in
from understudy.testing.answers import Answer, SeenRequest
from understudy.testing.fake_model import FakeModel

CANDIDATES = "/v1/learning-candidates"
LEARNINGS = "/v1/learnings"
POLICY = "/v1/runtime/learning-policy"
WORKSPACE = {"kind": "workspace", "id": "default"}
# Runs, the judge and extraction each have a route, so that a test sees who was asked what.
RUNS, JUDGE, EXTRACTION = "model-a", "model-b", "model-c"
AT_ONCE = 200
TABLES = {
    "lrn": ("learnings", "learning_id"),
    "cand": ("learning_candidates", "candidate_id"),
}

Reply = Callable[[dict[str, Any]], "Answer | str | dict[str, Any]"]


def session_scope(session: str) -> dict[str, str]:
    """The scope of a session."""
    return {"kind": "session", "id": session}


def rule(action: str, **fields: Any) -> dict[str, Any]:
    """A rule of a policy."""
    return {"action": action, **fields}


class LearningDaemon:
    """One daemon and the models it asks."""

    def __init__(self, daemon: DaemonProcess, model: FakeModel) -> None:
        self.daemon = daemon
        self.model = model
        self._client = daemon.client()
        self._replies: dict[str, Reply] = {}
        model.rule = self._reply
        model.script_captures = True

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def start_afresh(self) -> None:
        """Nothing waits, nothing is in force, the policy is the default one, no model is told."""
        self._replies.clear()
        self.answer(EXTRACTION, lambda _: {})
        self.model.release()
        self.model.forget()
        for state in ("pending", "escalated"):
            wanted = {"action": "reject", "filter": {"state": state}}
            while self.ok("POST", f"{CANDIDATES}/bulk", wanted)["has_more"]:
                pass
        self.ok("POST", f"{LEARNINGS}/revoke-matching", {"all": True})
        self._forget_who_declined()
        self.policy("shadow")
        self.model.requests.clear()

    def call(self, method: str, path: str, body: object = None, **params: Any) -> httpx2.Response:
        """One call, whatever its outcome."""
        return self._client.request(method, path, json=body, params=params or None)

    def ok(self, method: str, path: str, body: object = None, **params: Any) -> Any:
        """What a call answers; fails unless that is a success."""
        answer = self.call(method, path, body, **params)
        assert answer.status_code in {200, 201, 202, 204}, f"{method} {path}: {answer.text}"
        return answer.json() if answer.content else None

    def get(self, path: str, **params: Any) -> Any:
        """What is at a path."""
        return self.ok("GET", path, **params)

    def post(self, path: str, body: object = None) -> Any:
        """What a POST answers."""
        return self.ok("POST", path, {} if body is None else body)

    def refused(self, path: str, body: object = None, *, method: str = "POST") -> dict[str, Any]:
        """The problem that a call answers, which has every field a problem has."""
        answer = self.call(method, path, body)
        assert not answer.is_success, answer.text
        assert answer.headers["content-type"].startswith("application/problem+json")
        problem: dict[str, Any] = answer.json()
        assert {"type", "title", "status", "detail", "code", "domain"} <= set(problem)
        assert problem["status"] == answer.status_code
        return problem

    def propose(self, content: str, **fields: Any) -> Any:
        """A new candidate: a fact of the workspace, unless more is said."""
        return self.post(CANDIDATES, candidate(content, **fields))

    def publish(self, candidate_id: str, **changes: Any) -> Any:
        """The learning that a candidate becomes."""
        return self.post(f"{CANDIDATES}/{candidate_id}/publish", changes)

    def learn(
        self, content: str, *, publish: Mapping[str, Any] | None = None, **fields: Any
    ) -> Any:
        """A candidate, published at once for the scope that it was proposed for."""
        named = {"scope": fields["scope"]} if "scope" in fields else {}
        candidate = self.propose(content, **fields)
        return self.publish(candidate["candidate_id"], **{**named, **(publish or {})})

    def supersede(self, learning_id: str, content: str, **fields: Any) -> Any:
        """What takes the place of a learning."""
        return self.post(f"{LEARNINGS}/{learning_id}/supersede", {"content": content, **fields})

    def revoke(self, learning_id: str, reason: str | None = None) -> Any:
        """A learning that is taken back."""
        return self.post(f"{LEARNINGS}/{learning_id}/revoke", {"reason": reason})

    def candidate(self, candidate_id: str) -> Any:
        """A candidate as it is now."""
        return self.get(f"{CANDIDATES}/{candidate_id}")

    def learning(self, learning_id: str) -> Any:
        """A learning as it is now."""
        return self.get(f"{LEARNINGS}/{learning_id}")

    def candidates(self, **narrowed: Any) -> list[dict[str, Any]]:
        """The candidates that a filter finds."""
        return [*self._items(CANDIDATES, narrowed)]

    def learnings(self, **narrowed: Any) -> list[dict[str, Any]]:
        """The learnings that a filter finds."""
        return [*self._items(LEARNINGS, narrowed)]

    def reviewed(
        self, candidate_id: str, state: str | None = None, timeout: float = PATIENCE_S
    ) -> Any:
        """A candidate once automation has looked at it, and left it in a state."""

        def done() -> Any:
            view = self.candidate(candidate_id)
            is_there = "automation_review" in view and state in {None, view["state"]}
            return view if is_there else None

        return wait_for(done, timeout, what=f"{candidate_id} to be {state or 'reviewed'}")

    def policy(self, mode: str, *rules: dict[str, Any], **more: Any) -> Any:
        """Put a policy in force."""
        return self.post(POLICY, {"policy": policy(mode, *rules, **more)})

    def session(self, session: str, **fields: Any) -> str:
        """A session."""
        self.post("/v1/sessions", {"session_id": session, **fields})
        return session

    def run(self, session: str, text: str, **payload: Any) -> Any:
        """A run that has ended."""
        run_id = self.post(f"/v1/sessions/{session}/runs", {"content": text, **payload})["run_id"]

        def ended() -> Any:
            view = self.get(f"/v1/runs/{run_id}")
            return view if view["status"] in {"completed", "failed"} else None

        return wait_for(ended, 30, what=f"{run_id} to end")

    def told(self, session: str, text: str, **payload: Any) -> list[str]:
        """The learnings that the prompt of a new run tells of, in order."""
        self.run(session, text, **payload)
        return [learning_id for learning_id, _ in self.section()]

    def section(self) -> list[tuple[str, str]]:
        """The learnings in the last prompt of a run: ids, and the words that came with each."""
        last = [seen for seen in self.model.requests if seen.model == RUNS][-1]
        parts = section_in(last.system, LEARNED).split("\n### ")[1:]
        return [(part.split(" ", 1)[0], part) for part in parts]

    def context(self, session: str, query: str | None = None) -> Any:
        """What the next prompt would be told."""
        return self.get(f"/v1/sessions/{session}/memory-context", **_query(query))

    def in_context(self, session: str, query: str | None = None) -> list[str]:
        """The learnings that the next prompt would be told of."""
        learned = self.context(session, query).get("learned_context", {"entries": []})
        return [entry["learning_id"] for entry in learned["entries"]]

    def search(self, session: str, query: str | None = None, **params: Any) -> Any:
        """What a session finds."""
        return self.get(f"/v1/sessions/{session}/memory-search", **_query(query), **params)

    def answer(self, model: str, reply: Reply) -> None:
        """Have a model answer what it is sent in this way; runs are answered `ok` else."""
        self._replies[model] = reply

    def asked(self, model: str, about: str = "") -> list[dict[str, Any]]:
        """What a judge or an extraction was sent so far, if it mentions something."""
        sent = [seen.last_user for seen in self.model.requests if seen.model == model]
        return [json.loads(text) for text in sent if about in text]

    def edit(self, record_id: str, *, body: str | None = None, **columns: Any) -> None:
        """Change a record behind the daemon's back, as somebody with a database shell could.

        `body` is put in its place as it is; a field of the body is named `body__field`.
        """
        table, key = TABLES[record_id.partition("_")[0]]
        changes = {} if body is None else {"body": body}
        inside = {name[6:]: value for name, value in columns.items() if name.startswith("body__")}
        changes |= {name: value for name, value in columns.items() if name[6:] not in inside}
        with closing(sqlite3.connect(self.daemon.home / "understudy.db", timeout=30)) as database:
            where = f"FROM {table} WHERE {key} = ?"
            [[stored]] = database.execute(f"SELECT body {where}", [record_id])
            if inside:
                changes["body"] = json.dumps(json.loads(stored) | inside)
            settings = ", ".join(f"{name} = ?" for name in changes)
            values = [*changes.values(), record_id]
            database.execute(f"UPDATE {table} SET {settings} WHERE {key} = ?", values)
            database.commit()

    def _forget_who_declined(self) -> None:
        """What an earlier test cleared away, no person has said no to."""
        with closing(sqlite3.connect(self.daemon.home / "understudy.db", timeout=30)) as database:
            database.execute("UPDATE learning_candidates SET is_automatic = 1 WHERE NOT is_open")
            database.execute("UPDATE learnings SET is_taken_back = 0")
            database.commit()

    def _items(self, path: str, narrowed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        while True:
            params = {**narrowed, "limit": AT_ONCE, **({"cursor": cursor} if cursor else {})}
            page = self.get(path, **params)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _reply(self, seen: SeenRequest) -> Answer | str | None:
        reply = self._replies.get(seen.model)
        if reply is None:
            return None
        said = reply(_read(seen))
        return json.dumps(said) if isinstance(said, dict) else said


def candidate(content: str, **fields: Any) -> dict[str, Any]:
    """What a caller sends to propose something."""
    return {"scope": WORKSPACE, "kind": "fact", "content": content, **fields}


def policy(
    mode: str,
    *rules: dict[str, Any],
    capture: Mapping[str, Any] | None = None,
    judge: Mapping[str, Any] | None = None,
    **publication: Any,
) -> dict[str, Any]:
    """A policy with these rules; what is said of judge or capture also turns them on."""
    semantic = {"enabled": capture is not None, "model": {"provider": "c"}}
    judging = {"enabled": judge is not None, "model": {"provider": "b"}}
    summaries = {"run_summary_candidates": False}
    return {
        "mode": mode,
        "capture": {**summaries, "semantic_candidates": {**semantic, **(capture or {})}},
        "publication": {"rules": rules, **publication},
        "judge": {**judging, **(judge or {})},
    }


def soon() -> int:
    """A moment that comes before a test has ended."""
    return int(time.time() * 1000) + 400


def _query(query: str | None) -> dict[str, str]:
    return {} if query is None else {"query": query}


def _read(seen: SeenRequest) -> dict[str, Any]:
    """What a judge or an extraction is asked; a run is no JSON."""
    try:
        asked = json.loads(seen.last_user)
    except ValueError:
        return {"text": seen.last_user}
    return asked if isinstance(asked, dict) else {"text": seen.last_user}
