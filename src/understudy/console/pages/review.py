"""Review: everything that waits for a person, one item beside the queue."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import quote, urlencode

from understudy.api.in_process import OperationRefused
from understudy.console.page import ConsolePage, Load
from understudy.console.visits import Visit
from understudy.core.clock import DAY_MS

# As many things as the list beside the review shows: a page of the inbox.
QUEUE: Final = 50
NOT_FOUND: Final = 404
Found = dict[str, Any]
MANIFEST: Final = "SKILL.md"
# Query parameters that identify an item beside its id.
IN_ADDRESS: Final[Mapping[str, tuple[str, ...]]] = {
    "soul_proposal": ("agent_id",),
    "skill_draft": ("version",),
}
# A user counts as looking at an item for this long after opening it.
LOOKING_S: Final = 60.0
# The most items remembered; the oldest are dropped.
MAX_LOOKED_AT: Final = 1_000


class ReviewWatch:
    """Who looks at which item, so that two reviewers do not read the same one; in memory only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, str], dict[str, float]] = {}

    def others(self, kind: str, id_: str, user_id: str) -> list[str]:
        """The other users who look at an item; records this user, too."""
        now = self._clock()
        here = self._seen.pop((kind, id_), {})
        fresh = {who: at for who, at in here.items() if now - at < LOOKING_S}
        # Reinserted at the end: the least recently opened item is evicted first.
        self._seen[kind, id_] = {**fresh, user_id: now}
        while len(self._seen) > MAX_LOOKED_AT:
            del self._seen[next(iter(self._seen))]
        return sorted(who for who in fresh if who != user_id)


async def _review(visit: Visit) -> Found:
    """The queue, the chosen item, and the last decision."""
    kind = visit.query.get("kind")
    listed = await visit.call("inbox.list", kind=kind, limit=QUEUE)
    items = listed["items"]
    chosen = _chosen(visit) or _first(items)
    place = None if chosen is None else _place(items, chosen)
    shown = {} if chosen is None else await DETAILS[chosen["kind"]](visit, chosen)
    counts = listed["counts"]
    # The item after the last is the first, as after an item that was decided meanwhile.
    others = [each for each in items if place is None or each is not items[place - 1]]
    following = others[(place - 1) % len(others)] if place and others else _first(others)
    return {
        "items": [{**each, "href": _address(each, kind=kind)} for each in items],
        "counts": counts,
        "kind": kind,
        "total": counts.get(kind, 0) if kind else sum(counts.values()),
        "chosen": chosen,
        "mark": _mark(chosen) if chosen else "",
        "place": place,
        "here": _address(chosen, kind=kind) if chosen else "/review",
        "onward": partial(_address, following, kind=kind),
        "done": await _done(visit),
        "watching": _watching(visit, chosen),
        "tomorrow": time.time_ns() // 1_000_000 + DAY_MS,
        "twin": {"kind": kind} if kind else {},
        **shown,
    }


def _address(item: Mapping[str, Any] | None, **query: Any) -> str:
    """The URL of an item's review page, or of the first item."""
    path = "/review"
    if item is not None:
        kind = "" if item["kind"] == "candidate" else f"/{item['kind']}"
        path = f"/review{kind}/{quote(item['id'], safe='')}"
        query |= {name: item.get(name) for name in IN_ADDRESS.get(item["kind"], ())}
    said = {name: value for name, value in query.items() if value}
    # Braces are placeholders for fields of an answer.
    return f"{path}?{urlencode(said, safe='{}')}" if said else path


def _mark(item: Mapping[str, Any]) -> str:
    """The suffix of HTML ids for an item: a hash, so that a CSS selector can contain it."""
    return hashlib.sha256(f"{item['kind']}/{item['id']}".encode()).hexdigest()[:12]


def _chosen(visit: Visit) -> Found | None:
    """The item that the URL names; without a kind it is a candidate."""
    values = visit.request.path_params
    if "id" not in values:
        return None
    kind = values.get("kind", "candidate")
    if kind not in DETAILS:
        raise OperationRefused(NOT_FOUND, {"title": "Not found", "status": NOT_FOUND})
    said = {name: visit.query.get(name, "") for name in IN_ADDRESS.get(kind, ())}
    return {"kind": kind, "id": values["id"], **said}


def _watching(visit: Visit, chosen: Mapping[str, Any] | None) -> list[str]:
    watch: ReviewWatch = visit.request.app.state.review_watch
    user_id = visit.caller.user_id
    return watch.others(chosen["kind"], chosen["id"], user_id) if chosen else []


def _first(items: list[Found]) -> Found | None:
    return items[0] if items else None


def _place(items: list[Found], chosen: Mapping[str, Any]) -> int | None:
    ids = [(each["kind"], each["id"]) for each in items]
    mine = (chosen["kind"], chosen["id"])
    return ids.index(mine) + 1 if mine in ids else None


async def _done(visit: Visit) -> Found | None:
    """The candidate that was decided last, for the notice; None if it is gone."""
    if "done" not in visit.query:
        return None
    try:
        found: Found = await visit.call("learning_candidates.get", candidate_id=visit.query["done"])
    except OperationRefused:
        return None
    return found


async def _candidate(visit: Visit, chosen: Mapping[str, Any]) -> Found:
    ids = {"candidate_id": chosen["id"]}
    return {
        "item": await visit.call("learning_candidates.get", **ids),
        "trace": await visit.call("learning_candidates.explain", **ids),
    }


async def _approval(visit: Visit, chosen: Mapping[str, Any]) -> Found:
    return {"item": await visit.call("approvals.get", request_id=chosen["id"])}


async def _question(visit: Visit, chosen: Mapping[str, Any]) -> Found:
    return {"item": await visit.call("questions.get", request_id=chosen["id"])}


async def _proposal(visit: Visit, chosen: Mapping[str, Any]) -> Found:
    ids = {"agent_id": chosen.get("agent_id", ""), "proposal_id": chosen["id"]}
    return {"item": await visit.call("agents.proposal", **ids)}


async def _draft(visit: Visit, chosen: Mapping[str, Any]) -> Found:
    """A version beside the one that all have; the whole SKILL.md if there is none."""
    ids = {"skill_id": chosen["id"]}
    skill = await visit.call("skills.get", **ids)
    listed = await visit.call("skills.versions", **ids, limit=200)
    asked = str(chosen["version"])
    found = [each for each in listed["items"] if asked in ("", str(each["version"]))]
    if not found:
        raise OperationRefused(NOT_FOUND, {"title": "Not found", "status": NOT_FOUND})
    number = found[0]["version"]
    text = difference = None
    accepted = [it for it in listed["items"] if it["state"] == "served"]
    accepted = [it["version"] for it in accepted if not it["waiting_for_others"]]
    base = listed["current"] if listed["current"] in accepted else next(iter(accepted), None)
    if base is None:
        text = await visit.call("skills.file", **ids, path=MANIFEST, version=number)
    else:
        served = {"from": base, "to": number}
        difference = await visit.call("skills.diff", **served, **ids)
    report = await visit.call("skills.guard_report", **ids, version=number)
    return {
        "item": found[0],
        "skill": skill,
        "text": text,
        "difference": difference,
        "report": report,
    }


async def _second(visit: Visit, chosen: Mapping[str, Any]) -> Found:
    return {"item": await visit.call("second_approvals.get", approval_id=chosen["id"])}


async def _rollout(visit: Visit, chosen: Mapping[str, Any]) -> Found:
    return {"item": await visit.call("rollouts.get", skill_name=chosen["id"])}


DETAILS: Final[Mapping[str, Callable[[Visit, Mapping[str, Any]], Awaitable[Found]]]] = {
    "candidate": _candidate,
    "approval": _approval,
    "question": _question,
    "second_approval": _second,
    "soul_proposal": _proposal,
    "skill_draft": _draft,
    "rollout_step": _rollout,
}


# The bulk decisions, by the last part of the URL.
BULK: Final[Mapping[str, Mapping[str, str]]] = {
    "publish": {"action": "publish"},
    "provisional": {"action": "publish", "publish_tier": "provisional"},
    "reject": {"action": "reject"},
}


async def _bulk(visit: Visit) -> Found | str:
    """The dry run of one decision about many candidates."""
    chosen = visit.request.query_params.getlist("id")
    if not chosen:
        return "/review"
    named = visit.request.path_params["decision"]
    decision = {**BULK.get(named, {"action": named}), "candidate_ids": chosen}
    outcome = await visit.call("learning_candidates.bulk", body={**decision, "dry_run": True})
    listed = await visit.call("learning_candidates.list", candidate_id=chosen, limit=len(chosen))
    return {
        "named": named,
        "decision": decision,
        "outcome": outcome,
        "titles": {each["candidate_id"]: each["content"] for each in listed["items"]},
        "ready": [_as_shown(each) for each in outcome["items"] if each["done"]],
        "twin_operation": "inbox.list",
        "twin": {"kind": "candidate"},
    }


def _as_shown(outcome: Mapping[str, Any]) -> Found:
    """A candidate with the version and scope that the preview showed."""
    reach = outcome.get("reach")
    scope = {"scope": reach["scope"]} if reach else {}
    return {"candidate_id": outcome["candidate_id"], "version": outcome["version"], **scope}


def _page(path: str, template: str, load: Load) -> ConsolePage:
    return ConsolePage(path=path, name="review", template=template, twin="inbox.list", load=load)


PAGES: Final = (
    _page("/review", "review.html", _review),
    _page("/review/bulk/{decision}", "review_bulk.html", _bulk),
    _page("/review/{id}", "review.html", _review),
    _page("/review/{kind}/{id:path}", "review.html", _review),
)
