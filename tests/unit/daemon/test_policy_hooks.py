"""What a new revision of the runtime document sets in motion, and in which order."""

from types import SimpleNamespace
from typing import Any, cast

from understudy.core.bell import Bell
from understudy.daemon.services import _runtime
from understudy.memory.policy import RUN_MEMORY_POLICY
from understudy.review.policy import LEARNING_POLICY
from understudy.runtime.service import Revision
from understudy.testing.clock import FrozenClock


def test_reviews_are_queued_before_anybody_holds_the_run_memories() -> None:
    """The other way round, a review that is settled, a run that ends and a rollback wait in a ring."""
    done: list[str] = []
    resources = SimpleNamespace(units=None, clock=FrozenClock(), bell=Bell())
    maintenance = SimpleNamespace(rebuild=lambda *_: done.append("run memories"))
    unit: Any = SimpleNamespace(
        candidates=SimpleNamespace(queue_pending=lambda **_: done.append("reviews")),
        after_commit=lambda _: None,
    )
    before = Revision(revision=1, updated_at_ms=0, actor="daemon", setting="initial")
    document = {
        LEARNING_POLICY.setting: {"mode": "enabled"},
        RUN_MEMORY_POLICY.setting: {"enabled": True},
    }
    after = Revision(
        revision=2, updated_at_ms=1, actor="admin", setting="rollback", document=document
    )

    for hook in _runtime(cast("Any", resources), cast("Any", maintenance)).hooks:
        hook(unit, before, after)

    assert done == ["reviews", "run memories"]
