"""Agents: their switches, files with history, prompt, skills, tools and evolution."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from understudy.api.in_process import OperationRefused
from understudy.console.forms import number_of
from understudy.console.page import ConsolePage
from understudy.console.visits import Visit

FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
Ids = dict[str, str]
Parts = dict[str, Any]
# The number of versions that fit on one screen.
VERSIONS: Final = 50
ENTRIES: Final = 30
PROPOSALS: Final = 10
SESSIONS: Final = 100
TOOLS: Final = 200


async def _agents(visit: Visit) -> Parts | str:
    problem, status = None, 200
    if visit.form:
        try:
            made = await visit.call("agents.create", body=_filled(visit.form))
        except OperationRefused as refused:
            problem, status = refused.problem, refused.status
        else:
            return f"/agents/{quote(made['agent_id'], safe='')}"
    cursor = {"cursor": visit.query["cursor"]} if "cursor" in visit.query else {}
    page = await visit.call("agents.list", limit=50, **cursor)
    return {
        "items": page["items"],
        "next": page.get("next_cursor"),
        "routes": (await visit.call("routes.list"))["items"],
        "problem": problem,
        "http_status": status,
        "twin": cursor,
    }


async def _agent(visit: Visit) -> Parts | str:
    """One agent, with the tab that the URL names."""
    ids = {"agent_id": visit.request.path_params["id"]}
    tab = visit.query.get("tab", "general")
    tab = tab if tab in TABS else "general"
    problem, status = None, 200
    if visit.form:
        try:
            return await _change(visit, ids)
        except OperationRefused as refused:
            problem, status = refused.problem, refused.status
    record = await visit.call("agents.get", **ids)
    return {
        "record": record,
        "switches": {switch["name"]: switch for switch in record["switches"]},
        "tab": tab,
        "tabs": tuple(TABS),
        "problem": problem,
        "http_status": status,
        "ids": ids,
        "twin": ids,
        **await TABS[tab](visit, ids, record),
    }


async def _change(visit: Visit, ids: Ids) -> str:
    """Apply a form of the page, and return the path to redirect to."""
    form = dict(visit.form)
    body: Parts
    match form.pop("_do", ""):
        case "interval":
            interval = number_of(form.get("skill_nudge_interval", ""))
            body = {"other_config": {"skill_nudge_interval": interval}}
            await visit.call("agents.update", body=body, **ids)
            return _at(ids, tab="config", done="skill_nudge_interval")
        case "file":
            name = form.get("name", "")
            body = {
                "content": form.get("content", ""),
                "version": number_of(form.get("version", "")),
                "reason": form.get("reason") or None,
            }
            await visit.call("agents.write_file", body=body, name=name, **ids)
            return _at(ids, tab="files", file=name, done="file")
        case _:
            # An empty route or owner clears it; an empty display name means no change.
            body = {
                **_filled(form),
                "route": form.get("route", ""),
                "owner_id": form.get("owner_id", ""),
            }
            await visit.call("agents.update", body=body, **ids)
            return _at(ids, tab="general", done="general")


def _at(ids: Ids, **query: str) -> str:
    return f"/agents/{quote(ids['agent_id'], safe='')}?{urlencode(query)}"


def _filled(form: Mapping[str, str]) -> Parts:
    """The fields of an agent that a form sets."""
    body: Parts = {name: value for name, value in form.items() if value}
    if "max_tool_iterations" in body:
        body["max_tool_iterations"] = number_of(body["max_tool_iterations"])
    return body


async def _general(visit: Visit, ids: Ids, record: Parts) -> Parts:
    return {"routes": (await visit.call("routes.list"))["items"]}


async def _nothing(visit: Visit, ids: Ids, record: Parts) -> Parts:
    return {}


async def _files(visit: Visit, ids: Ids, record: Parts) -> Parts:
    """The files, and the text of one of them."""
    name = _file_name(visit, record)
    kept = await visit.call("agents.files", limit=100, **ids)
    newest = await visit.call("agents.file_versions", name=name, limit=1, **ids)
    in_force = next((it for it in newest["items"] if not it["deleted"]), None)
    file = await visit.call("agents.file", name=name, **ids) if in_force else None
    return {
        "sizes": {each["name"]: each["size"] for each in kept["items"]},
        "name": name,
        "file": file,
        # An emptied file still has a version.
        "version": newest["items"][0]["version"] if newest["items"] else 0,
    }


async def _history(visit: Visit, ids: Ids, record: Parts) -> Parts:
    """The versions of a file, and what one of them changed."""
    name = _file_name(visit, record)
    page = await visit.call("agents.file_versions", name=name, limit=VERSIONS, **ids)
    versions = page["items"]
    newest = versions[0]["version"] if versions else 0
    asked = number_of(visit.query.get("version", ""))
    number = asked if isinstance(asked, int) else newest
    chosen = before = None
    if number:
        chosen = await visit.call("agents.file_version", name=name, version=number, **ids)
        before = await _version(visit, ids, name, number - 1)
    return {
        "name": name,
        "versions": versions,
        "chosen": chosen,
        "before": before,
        "newest": newest,
    }


async def _version(visit: Visit, ids: Ids, name: str, number: int) -> Parts | None:
    """A version of a file; None if it does not exist or is deleted."""
    if number < 1:
        return None
    try:
        found: Parts = await visit.call("agents.file_version", name=name, version=number, **ids)
    except OperationRefused as refused:
        if refused.status != NOT_FOUND:
            raise
        return None
    return found


def _file_name(visit: Visit, record: Parts) -> str:
    names = [each["name"] for each in record["files"]]
    asked = visit.form.get("name") or visit.query.get("file")
    return asked if asked in names and asked is not None else str(names[0])


async def _prompt(visit: Visit, ids: Ids, record: Parts) -> Parts:
    """The prompt of the next run, in an existing session or a new one."""
    found = (await visit.call("sessions.list", limit=SESSIONS))["items"]
    own = [each["session_id"] for each in found if each["agent_id"] == ids["agent_id"]]
    asked = {"query": visit.query["query"]} if "query" in visit.query else {}
    session = visit.query.get("session_id", "")
    operation, of = "agents.prompt_preview", ids
    if session in own:
        operation, of = "sessions.prompt_preview", {"session_id": session}
    try:
        preview, refusal = await visit.call(operation, **asked, **of), None
    except OperationRefused as refused:
        preview, refusal = None, refused.problem
    return {
        "sessions": own,
        "preview": preview,
        "refusal": refusal,
        "twin_operation": operation,
        "twin": {**of, **asked},
    }


async def _skills(visit: Visit, ids: Ids, record: Parts) -> Parts:
    return {"skills": (await visit.call("agents.skills", limit=100, **ids))["items"]}


async def _tools(visit: Visit, ids: Ids, record: Parts) -> Parts:
    tools = (await visit.call("agents.tools", limit=TOOLS, **ids))["items"]
    unaccepted: dict[str, list[str]] = {}
    for tool in tools:
        if tool.get("accepted") is False:
            unaccepted.setdefault(tool["name"].partition("/")[0], []).append(tool["digest"])
    return {"tools": tools, "unaccepted": unaccepted}


async def _evolution(visit: Visit, ids: Ids, record: Parts) -> Parts:
    """The proposals that wait for a decision, and the history."""
    cursor = {"cursor": visit.query["cursor"]} if "cursor" in visit.query else {}
    page = await visit.call("agents.evolution", limit=ENTRIES, **cursor, **ids)
    return {
        "entries": page["items"],
        "next": page.get("next_cursor"),
        "proposals": await _proposals(visit, ids),
        "twin_operation": "agents.evolution",
    }


async def _proposals(visit: Visit, ids: Ids) -> list[Parts]:
    """The proposals that wait; empty for a caller who may not decide about this agent."""
    try:
        listed = await visit.call("agents.proposals", state="pending", limit=PROPOSALS, **ids)
    except OperationRefused as refused:
        if refused.status != FORBIDDEN:
            raise
        return []
    return [
        await visit.call("agents.proposal", proposal_id=each["proposal_id"], **ids)
        for each in listed["items"]
    ]


TABS: Final[Mapping[str, Callable[[Visit, Ids, Parts], Awaitable[Parts]]]] = {
    "general": _general,
    "config": _nothing,
    "files": _files,
    "history": _history,
    "prompt": _prompt,
    "skills": _skills,
    "tools": _tools,
    "evolution": _evolution,
}
PAGES: Final = (
    ConsolePage(
        path="/agents",
        name="agents",
        template="agents.html",
        twin="agents.list",
        load=_agents,
        takes_forms=True,
    ),
    ConsolePage(
        path="/agents/{id}",
        name="agents",
        template="agent.html",
        twin="agents.get",
        load=_agent,
        takes_forms=True,
    ),
)
