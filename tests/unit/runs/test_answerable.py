"""What readers may do about what runs ask."""

from dataclasses import replace

import pytest

from understudy.core.principal import Principal, Role
from understudy.runs.requests import (
    ACTIONS,
    BLOCKERS,
    PersonRequest,
    RequestKind,
    RequestState,
    actions_of,
    blocked_by,
)

ANN = Principal(user_id="ann", role=Role.OPERATOR)
ROOT = Principal(user_id="root", role=Role.ADMIN)


def asked(kind: RequestKind, state: RequestState = RequestState.PENDING) -> PersonRequest:
    return PersonRequest(
        request_id="r1",
        kind=kind,
        run_id="run_1",
        session_id="s1",
        call_key="k",
        body={},
        created_at_ms=1,
        state=state,
        user_id="ann" if kind is RequestKind.OFFER else None,
    )


@pytest.mark.parametrize("kind", RequestKind)
def test_an_operator_may_act_on_what_waits_for_them_and_a_viewer_on_nothing(
    kind: RequestKind,
) -> None:
    assert actions_of(asked(kind), ANN) == ACTIONS[kind] != ()
    assert blocked_by(asked(kind), replace(ANN, role=Role.VIEWER)) == ("needs-operator",)


@pytest.mark.parametrize("state", [state for state in RequestState if state != "pending"])
def test_nobody_acts_on_what_is_settled(state: RequestState) -> None:
    for kind in RequestKind:
        assert blocked_by(asked(kind, state), ANN) == ("settled",)


def test_an_offer_is_for_its_user_and_for_an_admin_only_in_their_name() -> None:
    offer = asked(RequestKind.OFFER)

    assert blocked_by(offer, ROOT) == ("for-another",)
    assert actions_of(offer, ROOT) == ()
    assert actions_of(offer, replace(ROOT, user_id="ann", acting_admin="root"))
    assert actions_of(asked(RequestKind.APPROVAL), ROOT)


def test_every_reason_is_told() -> None:
    denied = asked(RequestKind.OFFER, RequestState.DENIED)
    nobody = Principal(user_id="vic", role=Role.VIEWER)

    assert blocked_by(denied, nobody) == tuple(reason for reason, _ in BLOCKERS)
