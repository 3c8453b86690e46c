"""Calls about what runs leave behind: records, what prompts and searches make of them, the policy."""

from collections.abc import Iterator, Mapping
from typing import Any

from understudy.client.calls import at, delete, get, given, post
from understudy.client.groups.resource import Resource, every
from understudy.wire.base import Deleted, Items
from understudy.wire.memory import (
    MemoryContextView,
    MemoryExplainView,
    MemoryReportView,
    MemorySearchView,
    RunMemoryItem,
    RunMemoryPolicyRevisionView,
    RunMemoryPolicyView,
    RunMemoryView,
)

_policy = RunMemoryPolicyView.model_validate


class Memory(Resource):
    """What a session remembers of its runs."""

    def context(self, session_id: str, *, query: str | None = None) -> MemoryContextView:
        """What the next run would be given, were this its input."""
        path = at("sessions", session_id, "memory-context")
        return self.transport.send(get(path, MemoryContextView.model_validate, query=query))

    def search(
        self, session_id: str, *, query: str | None = None, limit: int | None = None
    ) -> MemorySearchView:
        """What the session can find, best first; newest first without a query."""
        path = at("sessions", session_id, "memory-search")
        read = MemorySearchView.model_validate
        return self.transport.send(get(path, read, query=query, limit=limit))

    def explain(self, session_id: str, *, query: str | None = None) -> MemoryExplainView:
        """Every learning and run in sight, and why it would or would not reach the prompt."""
        path = at("sessions", session_id, "memory-explain")
        return self.transport.send(get(path, MemoryExplainView.model_validate, query=query))

    def report(self, run_id: str) -> MemoryReportView:
        """What a run was given to remember, and what was left out."""
        path = at("runs", run_id, "memory-report")
        return self.transport.send(get(path, MemoryReportView.model_validate))


class RunMemories(Resource):
    """The records that runs left behind."""

    def get(self, run_id: str, *, evidence: bool = False) -> RunMemoryView:
        """The record of a run, with the longer texts it was made of if they are asked for."""
        path = at("run-memories", run_id)
        wanted = True if evidence else None
        return self.transport.send(get(path, RunMemoryView.model_validate, evidence=wanted))

    def forget(self, run_id: str) -> Deleted:
        """Remove the record of a run; the run itself stays."""
        return self.transport.send(delete(at("run-memories", run_id), Deleted.model_validate))

    def page(
        self,
        *,
        session_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[RunMemoryItem]:
        """Some records, newest first."""
        read = Items[RunMemoryItem].model_validate
        query = given(session_id=session_id, limit=limit, cursor=cursor)
        return self.transport.send(get(at("run-memories"), read, **query))

    def list(self, *, session_id: str | None = None) -> Iterator[RunMemoryItem]:
        """All records, newest first."""
        return every(lambda cursor: self.page(session_id=session_id, cursor=cursor))


class RunMemoryPolicy(Resource):
    """How much is kept, for how long, and who may find it."""

    def get(self) -> RunMemoryPolicyView:
        """The policy in force."""
        return self.transport.send(get(_path(), _policy))

    def set(
        self, policy: Mapping[str, Any], *, expected_revision: int | None = None
    ) -> RunMemoryPolicyView:
        """Replace the policy; what is left out takes its default."""
        fields = {"policy": dict(policy), **given(expected_revision=expected_revision)}
        return self.transport.send(post(_path(), _policy, fields))

    def revisions(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[RunMemoryPolicyRevisionView]:
        """The policy as it stood after each kept change of it, newest first."""
        read = Items[RunMemoryPolicyRevisionView].model_validate
        return self.transport.send(
            get(_path("revisions"), read, **given(limit=limit, cursor=cursor))
        )

    def roll_back(
        self, target_revision: int | None = None, *, expected_revision: int | None = None
    ) -> RunMemoryPolicyView:
        """Bring an earlier policy back; the one before when none is named."""
        fields = given(target_revision=target_revision, expected_revision=expected_revision)
        return self.transport.send(post(_path("rollback"), _policy, fields))


def _path(*more: str) -> str:
    return at("runtime", "run-memory-policy", *more)
