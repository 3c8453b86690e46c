"""Review: everything that waits for a person."""

from typing import Any, Final

from understudy.console.page import ConsolePage
from understudy.console.visits import Visit

# As many candidates as the list beside the review shows.
QUEUE: Final = 100


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


PAGES: Final = (
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
)
