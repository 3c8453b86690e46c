"""Which learnings can become skills."""

from typing import Any

import pytest

from tests.support.factories import NOW
from tests.support.rollout_harness import make_procedure
from understudy.learnings.model import Kind, LearningStatus, Tier
from understudy.rollout.promotion import BLOCKERS, source_blockers
from understudy.sessions.learning_scopes import session_scope

UNFIT: dict[str, dict[str, Any]] = {
    "source_not_procedure": {"kind": Kind.FACT},
    "source_not_active": {"status": LearningStatus.REVOKED},
    "source_not_active_tier": {"publish_tier": Tier.PROVISIONAL},
    "source_expired": {"expires_at_ms": NOW},
    "source_not_workspace": {"scope": session_scope("s1")},
}


def test_an_active_procedure_of_the_workspace_can() -> None:
    assert source_blockers(make_procedure(expires_at_ms=NOW + 1), now_ms=NOW) == ()


@pytest.mark.parametrize("code", UNFIT)
def test_each_thing_that_is_amiss_is_named(code: str) -> None:
    found = source_blockers(make_procedure(**UNFIT[code]), now_ms=NOW)
    assert [it.code for it in found] == [code]


def test_all_that_is_amiss_is_told_and_every_rule_is_tried() -> None:
    everything = {name: value for fields in UNFIT.values() for name, value in fields.items()}
    found = source_blockers(make_procedure(**everything), now_ms=NOW)
    assert [it.code for it in found] == [reason.code for reason, _ in BLOCKERS] == list(UNFIT)
