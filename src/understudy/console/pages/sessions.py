"""Sessions: the conversation and its open requests, the journal, the scopes, and the bindings."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from understudy.console.conversation import turns_of
from understudy.console.page import ConsolePage
from understudy.console.visits import Visit

# The newest journal events that a page shows.
JOURNAL_EVENTS: Final = 200
# The number of agents and personas that a form offers.
CHOICES: Final = 200
# The kinds of names that each scope lists.
SCOPES: Final[Mapping[str, tuple[str, ...]]] = {
    "capability_scope": ("skill", "mcp_server", "mcp_tool"),
    "credential_scope": ("route", "connector", "connector_credential", "mcp_server"),
}
# The operations that a tab offers.
ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "scopes": (
        "sessions.set_capability_scope",
        "sessions.clear_capability_scope",
        "sessions.set_credential_scope",
        "sessions.clear_credential_scope",
    ),
    "persona": (
        "sessions.bind_persona",
        "sessions.clear_persona",
        "sessions.activate_skill",
        "sessions.deactivate_skill",
    ),
    "permissions": ("sessions.set_permissions", "sessions.clear_permissions"),
    "tasks": ("tasks.create",),
    "settings": (
        "sessions.set_route_policy",
        "sessions.clear_route_policy",
        "sessions.set_reply_targets",
        "sessions.clear_reply_targets",
        "sessions.end",
    ),
}
# The states of a candidate that is open.
OPEN: Final = ("pending", "escalated")
Record = Mapping[str, Any]


async def _sessions(visit: Visit) -> dict[str, Any]:
    """The list, and the agents for a new session."""
    page = await visit.call("sessions.list", **{"limit": 50, **visit.query})
    return {
        "items": page["items"],
        "next": page["next_cursor"],
        "filters": await visit.filters("sessions.list"),
        "agents": await agents(visit) if visit.may("sessions.create") else [],
    }


async def agents(visit: Visit) -> list[str]:
    """The agents that a form offers."""
    found = await visit.call("agents.list", limit=CHOICES)
    return [each["agent_id"] for each in found["items"]]


async def _session(visit: Visit) -> dict[str, Any]:
    """A session, with the data of the chosen tab."""
    ids = {"session_id": visit.request.path_params["id"]}
    record = await visit.call("sessions.get", **ids)
    chosen = visit.query.get("tab", "")
    tab = chosen if chosen in TABS else "conversation"
    actions = [each for each in ACTIONS.get(tab, ()) if visit.may(each)]
    return {
        "record": record,
        "tabs": tuple(TABS),
        "tab": tab,
        "ids": ids,
        "actions": actions,
        "twin": ids,
        **await TABS[tab](visit, record),
    }


async def _conversation(visit: Visit, record: Record) -> dict[str, Any]:
    """The end of the journal, the queued runs, the open requests and candidates."""
    ids = {"session_id": record["session_id"]}
    after = max(record["snapshot"]["journal_length"] - JOURNAL_EVENTS, 0)
    journal = await visit.call("sessions.events", **ids, after=after, limit=JOURNAL_EVENTS)
    turns = turns_of(journal["items"])
    queued = ()
    if record["snapshot"]["queued_runs"]:
        queued = (await visit.call("runs.list", **ids, status="queued", limit=20))["items"]
    candidates = await candidates_of(visit, [each.candidate_ids for each in turns])
    open_ones = [each for each in candidates if candidates[each]["state"] in OPEN]
    return {
        "turns": [turn for turn in turns if turn.status != "queued"],
        "queued": queued[::-1],
        "is_cut": after > 0,
        "waiting": await waiting_in(visit, is_live="active_run_id" in record["snapshot"], **ids),
        "candidates": candidates,
        # Keyboard shortcuts decide the newest open candidate.
        "decided_by_key": open_ones[-1] if open_ones else "",
    }


async def _journal(visit: Visit, record: Record) -> dict[str, Any]:
    """The newest page of the journal, or the page at the cursor; of one kind from its beginning."""
    wanted: dict[str, Any] = {
        name: visit.query.get(name) for name in ("kind", "cursor", "after") if name in visit.query
    }
    if not wanted:
        wanted["after"] = max(record["snapshot"]["journal_length"] - JOURNAL_EVENTS, 0)
    page = await visit.call(
        "sessions.events", session_id=record["session_id"], limit=JOURNAL_EVENTS, **wanted
    )
    filters = await visit.filters("sessions.events")
    first = page["items"][0]["offset"] if page["items"] else 1
    return {
        "events": page["items"],
        "next": page["next_cursor"],
        "earlier": max(first - 1 - JOURNAL_EVENTS, 0) if first > 1 else None,
        "kinds": next((each.choices for each in filters if each.name == "kind"), ()),
    }


async def _scopes(visit: Visit, record: Record) -> dict[str, Any]:
    """The scopes of the persona, of the session, and their intersection."""
    persona = (await _persona(visit, record))["persona"] or {}
    rows = {}
    for name, kinds in SCOPES.items():
        parts = (
            persona.get(name, {}),
            record.get(name, {}),
            record.get(f"effective_{name}", {}),
        )
        rows[name] = [(kind, [_gate(part, kind) for part in parts]) for kind in kinds]
    return {"scopes": rows}


def _gate(scope: Mapping[str, Sequence[str]], kind: str) -> Mapping[str, Any]:
    """The allow and deny lists of a scope for one kind of name."""
    return {"allow": scope.get(f"{kind}_allow"), "deny": scope.get(f"{kind}_deny")}


async def _persona(visit: Visit, record: Record) -> dict[str, Any]:
    found = await visit.call("sessions.persona", session_id=record["session_id"])
    return {"persona": found.get("persona")}


async def _bound(visit: Visit, record: Record) -> dict[str, Any]:
    """The persona snapshot and the active skills, whoever activated them."""
    skills = await _items(visit, "sessions.active_skills", record)
    return {**await _persona(visit, record), "skills": skills}


async def _permissions(visit: Visit, record: Record) -> dict[str, Any]:
    ids = {"session_id": record["session_id"]}
    return {
        "permissions": await visit.call("sessions.permissions", **ids),
        "tools": (await visit.call("sessions.tools", limit=200, **ids))["items"],
    }


async def _tasks(visit: Visit, record: Record) -> dict[str, Any]:
    return {"items": await _items(visit, "tasks.list", record)}


async def _sidechains(visit: Visit, record: Record) -> dict[str, Any]:
    return {"items": await _items(visit, "sessions.sidechains", record)}


async def _settings(visit: Visit, record: Record) -> dict[str, Any]:
    return {
        "targets": record.get("reply_targets", ()),
        "bindings": await _items(visit, "sessions.bindings", record),
    }


async def _items(visit: Visit, operation: str, record: Record) -> Any:
    found = await visit.call(operation, session_id=record["session_id"], limit=200)
    return found["items"]


# The tabs in their order, each with the function that loads its data.
TABS: Final[Mapping[str, Callable[[Visit, Record], Awaitable[dict[str, Any]]]]] = {
    "conversation": _conversation,
    "journal": _journal,
    "scopes": _scopes,
    "persona": _bound,
    "permissions": _permissions,
    "tasks": _tasks,
    "sidechains": _sidechains,
    "settings": _settings,
}


async def waiting_in(visit: Visit, *, is_live: bool, **ids: str) -> dict[str, Any]:
    """The approvals and questions of a session or a run that wait for somebody.

    An offer outlives its run; a question does not.
    """
    approvals = (await visit.call("approvals.list", **ids))["items"]
    questions = (await visit.call("questions.list", **ids))["items"] if is_live else []
    return {"approvals": approvals, "questions": questions}


async def candidates_of(visit: Visit, ids: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Candidates by id, in their current state."""
    wanted = [each for some in ids for each in some][-CHOICES:]
    if not wanted:
        return {}
    found = await visit.call("learning_candidates.list", candidate_id=wanted, limit=CHOICES)
    return {each["candidate_id"]: each for each in found["items"]}


PAGES: Final = (
    ConsolePage(
        path="/sessions",
        name="sessions",
        template="sessions.html",
        twin="sessions.list",
        load=_sessions,
    ),
    ConsolePage(
        path="/sessions/{id}",
        name="sessions",
        template="session.html",
        twin="sessions.get",
        load=_session,
    ),
)
