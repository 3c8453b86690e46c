"""The pages: for each its path, its template, the operation that is its JSON twin, its data."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from understudy.console.visits import Visit

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
                template="record.html",
                twin=self.one,
                load=self._record,
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
    chosen = visit.request.path_params.get("id")
    listed: dict[str, Any] = await visit.call(
        "learning_candidates.list", state="pending", limit=100
    )
    items = listed["items"]
    if chosen is None and items:
        chosen = items[0]["candidate_id"]
    item: Mapping[str, Any] | None = None
    trace: Mapping[str, Any] | None = None
    if chosen:
        item = await visit.call("learning_candidates.get", candidate_id=chosen)
        trace = await visit.call("learning_candidates.explain", candidate_id=chosen)
    return {"items": items, "item": item, "trace": trace, "twin": {}}


async def _overview(visit: Visit) -> dict[str, Any]:
    return {
        "status": await visit.call("status.read"),
        "runs": (await visit.call("runs.list", limit=8))["items"],
        "approvals": (await visit.call("approvals.list", limit=8))["items"],
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
    ),
    Listing(
        name="sessions",
        all="sessions.list",
        one="sessions.get",
        key="session_id",
        columns=("session_id", "agent_id", "thread_id", "created_at_ms", "updated_at_ms"),
        title="session_id",
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
    *(page for listing in LISTINGS for page in listing.pages()),
)
