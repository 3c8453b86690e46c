"""Tools that are withheld from a model."""

import pytest

from tests.support.factories import make_agent, make_session
from tests.support.run_harness import Probe
from understudy.agent.admission import Offer
from understudy.agent.budget import specs_of
from understudy.agent.prompt import withheld_in
from understudy.providers.base import ToolCall
from understudy.tools.base import ToolError
from understudy.tools.registry import ToolRegistry

DENY_A = {"rules": [{"tool": "a", "decision": "deny"}]}
DENY_B = {"inherited": [{"tool": "b*", "decision": "deny"}]}
NAMES = ("c", "b", "a", "b2")


def offer(*withheld: str) -> Offer:
    return Offer(
        registry=ToolRegistry([Probe(name) for name in NAMES]), names=NAMES, withheld=withheld
    )


def test_rules_of_the_agent_and_of_the_session_leave_tools_out() -> None:
    agent, session = make_agent("x", permissions=DENY_A), make_session(permissions=DENY_B)

    assert withheld_in(agent, session) == ("a", "b*")
    assert withheld_in(None, make_session()) == ()


@pytest.mark.parametrize("damaged", [{"rules": "?"}, {"inherited": [1]}])
def test_where_rules_cannot_be_read_everything_is_told(damaged: dict[str, object]) -> None:
    assert withheld_in(make_agent("x", permissions=DENY_A), make_session(permissions=damaged)) == ()


def test_without_such_rules_the_model_is_told_of_every_tool_in_its_order() -> None:
    assert [spec.name for spec in specs_of(offer())] == [*NAMES]


def test_what_is_left_out_can_still_be_asked_for_and_is_denied_then() -> None:
    cut = offer("a", "b*")

    assert [spec.name for spec in specs_of(cut)] == ["c"]
    assert cut.find(ToolCall(call_id="1", name="b", arguments="{}")).name == "b"
    with pytest.raises(ToolError, match=r"available: c$"):
        cut.find(ToolCall(call_id="1", name="nothing", arguments="{}"))
