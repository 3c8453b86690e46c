"""Where learnings came from and went, as the wire shows it."""

from collections.abc import Sequence

from understudy.api.paging import items
from understudy.api.views.learnings import (
    candidate_view,
    learning_view,
    related_view,
    review_view,
)
from understudy.learnings.lineage import Lineage
from understudy.learnings.model import Learning, LearningUse
from understudy.runs.model import Run
from understudy.wire.learnings import (
    LineageView,
    RevokedMatchingView,
    SourceRunView,
    UseView,
)


def lineage_view(lineage: Lineage) -> LineageView:
    """The chain both ways."""
    candidate, run = lineage.candidate, lineage.source_run
    return LineageView(
        learning=learning_view(lineage.learning),
        candidate=None if candidate is None else candidate_view(candidate),
        reviews=[review_view(review) for review in lineage.reviews],
        source_run=None if run is None else _run(run),
        replaced=[related_view(learning) for learning in lineage.replaced],
        replaced_by=[related_view(learning) for learning in lineage.replaced_by],
        use_count=lineage.use_count,
        uses=items(lineage.uses, _use),
    )


def revoked_view(learnings: Sequence[Learning], *, dry_run: bool) -> RevokedMatchingView:
    """What was taken back, or would be."""
    return RevokedMatchingView(
        dry_run=dry_run,
        count=len(learnings),
        items=[learning_view(learning) for learning in learnings],
    )


def _run(run: Run) -> SourceRunView:
    return SourceRunView(
        run_id=run.run_id,
        session_id=run.session_id,
        agent_id=run.agent_id,
        status=run.status.value,
        submitted_at_ms=run.submitted_at_ms,
    )


def _use(use: LearningUse) -> UseView:
    return UseView(
        run_id=use.run_id,
        session_id=use.session_id,
        learning_version=use.learning_version,
        at_ms=use.at_ms,
    )
