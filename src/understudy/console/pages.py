"""The pages: for each its path, its template, the operation that is its JSON twin, its data."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from understudy.console.conversation import timeline_of, turns_of
from understudy.console.visits import Visit

# As many candidates as the list beside the review shows.
QUEUE: Final = 100
# The end of a journal that a page shows.
JOURNAL_EVENTS: Final = 200
Load = Callable[[Visit], Awaitable[dict[str, Any] | str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolePage:
    """One page."""

    path: str
    # Its entry in the navigation and the key of its title.
    name: str
    template: str
    # The operation whose answer the page shows.
    twin: str
    load: Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A kind of thing that has a list and a page for each, both made from the API description."""

    name: str
    all: str
    one: str
    # The field of a record, and the parameter of `one`, that name it.
    key: str
    columns: tuple[str, ...]
    # The field that the page of a record begins with.
    title: str
    parameter: str = ""
    # A page of its own for one thing, where the record alone is not enough.
    template: str = "record.html"
    load: Load | None = None

    def pages(self) -> tuple[ConsolePage, ConsolePage]:
        """The list and the record."""
        path = f"/{self.name}"
        return (
            ConsolePage(
                path=path, name=self.name, template="list.html", twin=self.all, load=self._list
            ),
            ConsolePage(
                path=f"{path}/{{id}}",
                name=self.name,
                template=self.template,
                twin=self.one,
                load=self.load or self._record,
            ),
        )

    async def _list(self, visit: Visit) -> dict[str, Any]:
        page = await visit.call(self.all, **{"limit": 50, **visit.query})
        return {
            "listing": self,
            "items": page["items"],
            "next": page.get("next_cursor"),
            "filters": await visit.filters(self.all),
        }

    async def _record(self, visit: Visit) -> dict[str, Any]:
        values = {self.parameter or self.key: visit.request.path_params["id"]}
        record = await visit.call(self.one, **values)
        actions = [each for each in visit.surface.actions(self.one) if visit.may(each)]
        return {
            "listing": self,
            "record": record,
            "actions": actions,
            "ids": values,
            "twin": values,
        }


async def _front(visit: Visit) -> str:
    """The review page when something waits, else the overview."""
    waiting = await visit.call("learning_candidates.next")
    return "/review" if waiting.get("item") else "/overview"


async def _review(visit: Visit) -> dict[str, Any]:
    """What waits, the candidate that is looked at, and the one that was decided last."""
    listed = await visit.call("learning_candidates.list", waiting="true", limit=QUEUE)
    waiting = await visit.call("learning_candidates.next")
    first = waiting.get("item")
    chosen = visit.request.path_params.get("id") or (first["candidate_id"] if first else None)
    item = trace = None
    if chosen is not None:
        item = await visit.call("learning_candidates.get", candidate_id=chosen)
        trace = await visit.call("learning_candidates.explain", candidate_id=chosen)
    done = visit.query.get("done")
    ids = [each["candidate_id"] for each in listed["items"]]
    return {
        "items": listed["items"],
        "total": waiting["following"] + 1 if first else 0,
        "place": ids.index(chosen) + 1 if chosen in ids else None,
        "item": item,
        "trace": trace,
        "done": await visit.call("learning_candidates.get", candidate_id=done) if done else None,
        "twin": {"waiting": "true"},
    }


async def _session(visit: Visit) -> dict[str, Any]:
    """The conversation: the end of the journal, which may be long."""
    ids = {"session_id": visit.request.path_params["id"]}
    record = await visit.call("sessions.get", **ids)
    after = max(record["snapshot"]["journal_length"] - JOURNAL_EVENTS, 0)
    journal = await visit.call("sessions.events", **ids, after=after, limit=JOURNAL_EVENTS)
    turns = turns_of(journal["items"])
    return {
        "record": record,
        "turns": turns,
        "is_cut": after > 0,
        "twin": ids,
        "waiting": await _waiting(visit, **ids),
    }


async def _run(visit: Visit) -> dict[str, Any]:
    ids = {"run_id": visit.request.path_params["id"]}
    record = await visit.call("runs.get", **ids)
    journal = await visit.call(
        "sessions.events", session_id=record["session_id"], limit=JOURNAL_EVENTS, **ids
    )
    turn = next(iter(turns_of(journal["items"])), None)
    until = record.get("finished_at_ms") or record["updated_at_ms"]
    return {
        "record": record,
        "turn": turn,
        "bars": timeline_of(turn, until_ms=until) if turn else [],
        "memory": await visit.call("runs.memory_report", **ids),
        "candidates": await visit.call("learning_candidates.list", query=ids["run_id"], limit=20),
        "waiting": await _waiting(visit, **ids),
        "twin": ids,
    }


async def _waiting(visit: Visit, **ids: str) -> dict[str, Any]:
    """The approvals and questions of a session or a run that wait for somebody."""
    return {
        "approvals": (await visit.call("approvals.list", **ids))["items"],
        "questions": (await visit.call("questions.list", **ids))["items"],
    }


async def _memory(visit: Visit) -> dict[str, Any]:
    """What a prompt would be told in a session for an input, and why."""
    sessions = (await visit.call("sessions.list", limit=50))["items"]
    chosen = visit.query.get("session_id") or (sessions[0]["session_id"] if sessions else None)
    if chosen is None:
        return {"sessions": (), "twin_operation": "sessions.list", "twin": {}}
    asked = {"session_id": chosen, "query": visit.query.get("query", "")}
    return {
        "sessions": sessions,
        "chosen": chosen,
        "explained": await visit.call("sessions.memory_explain", **asked),
        "twin": asked,
    }


async def _overview(visit: Visit) -> dict[str, Any]:
    return {
        "status": await visit.call("status.read"),
        "runs": (await visit.call("runs.list", limit=8))["items"],
        "twin": {},
    }


LISTINGS: Final = (
    Listing(
        name="learnings",
        all="learnings.list",
        one="learnings.get",
        key="learning_id",
        columns=("content", "kind", "scope", "status", "published_at_ms"),
        title="content",
    ),
    Listing(
        name="runs",
        all="runs.list",
        one="runs.get",
        key="run_id",
        columns=("status", "run_id", "session_id", "agent_id", "kind", "submitted_at_ms"),
        title="run_id",
        template="run.html",
        load=_run,
    ),
    Listing(
        name="sessions",
        all="sessions.list",
        one="sessions.get",
        key="session_id",
        columns=("session_id", "agent_id", "thread_id", "created_at_ms", "updated_at_ms"),
        title="session_id",
        template="session.html",
        load=_session,
    ),
    Listing(
        name="skills",
        all="skills.list",
        one="skills.get",
        key="id",
        parameter="skill_id",
        columns=("name", "description", "visibility", "status", "version"),
        title="name",
    ),
    Listing(
        name="rollouts",
        all="rollouts.list",
        one="rollouts.get",
        key="skill_name",
        columns=("skill_name", "status", "source_learning_id", "updated_at_ms"),
        title="skill_name",
    ),
    Listing(
        name="agents",
        all="agents.list",
        one="agents.get",
        key="agent_id",
        columns=("agent_id", "display_name", "agent_type", "route", "updated_at_ms"),
        title="agent_id",
    ),
    Listing(
        name="schedules",
        all="schedules.list",
        one="schedules.get",
        key="schedule_id",
        columns=("schedule_id", "session_id", "status", "next_at_ms"),
        title="schedule_id",
    ),
)
PAGES: Final = (
    ConsolePage(
        path="/", name="overview", template="overview.html", twin="status.read", load=_front
    ),
    ConsolePage(
        path="/overview",
        name="overview",
        template="overview.html",
        twin="status.read",
        load=_overview,
    ),
    ConsolePage(
        path="/review",
        name="review",
        template="review.html",
        twin="learning_candidates.list",
        load=_review,
    ),
    ConsolePage(
        path="/review/{id}",
        name="review",
        template="review.html",
        twin="learning_candidates.list",
        load=_review,
    ),
    ConsolePage(
        path="/memory",
        name="memory",
        template="memory.html",
        twin="sessions.memory_explain",
        load=_memory,
    ),
    *(page for listing in LISTINGS for page in listing.pages()),
)
