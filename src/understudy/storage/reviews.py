"""What automation made of candidates, under each policy."""

from typing import Any, Final

import sqlalchemy as sa

from understudy.learnings.model import AutomationReview
from understudy.storage.columns import read_record
from understudy.storage.learning_json import read_review, review_json
from understudy.storage.paging import readable
from understudy.storage.rows import upsert_of
from understudy.storage.schema import learning_reviews as reviews


class ReviewStore:
    """What automation made of candidates, under each policy."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def get(self, candidate_id: str, policy_digest: str) -> AutomationReview | None:
        """The review of a candidate under a policy; one that cannot be read is none."""
        values = {"of": candidate_id, "under": policy_digest}
        found = readable(self._connection.execute(_ONE, values).all(), _read)
        return next(iter(found), None)

    def put(self, candidate_id: str, policy_digest: str, review: AutomationReview) -> None:
        """Keep a review, in place of an older one under the same policy."""
        values = {
            "candidate_id": candidate_id,
            "policy_digest": policy_digest,
            "reviewed_at_ms": review.reviewed_at_ms,
            "body": review_json(review),
        }
        self._connection.execute(_PUT[self._connection.dialect.name], values)

    def of_candidate(self, candidate_id: str) -> tuple[AutomationReview, ...]:
        """All of them, newest first."""
        rows = self._connection.execute(_OF_CANDIDATE, {"of": candidate_id}).all()
        return tuple(readable(rows, _read))


_PUT: Final = upsert_of(reviews)
_OF_CANDIDATE: Final = (
    sa.select(reviews)
    .where(reviews.c.candidate_id == sa.bindparam("of"))
    .order_by(reviews.c.reviewed_at_ms.desc(), reviews.c.policy_digest)
)
_ONE: Final = _OF_CANDIDATE.where(reviews.c.policy_digest == sa.bindparam("under"))


def _read(row: Any) -> AutomationReview:
    return read_record(
        row, lambda row: read_review(row.body), what=f"review of candidate {row.candidate_id}"
    )
