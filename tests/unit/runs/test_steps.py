"""What the steps of a run add up to."""

import pytest

from tests.support.factories import make_event
from understudy.runs.execute import counted_calls
from understudy.sessions.journal import EventKind

# What the journal says of a call, and how many it counts for. Older journals do not tell a call
# that was refused from one that the model got wrong.
COUNTED = [
    ({"executed": True, "refused": False}, 1),
    ({"executed": False, "refused": False}, 1),
    ({"executed": False, "refused": True}, 0),
    ({"executed": True}, 1),
    ({"executed": False}, 0),
    ({}, 0),
]


@pytest.mark.parametrize(("data", "count"), COUNTED)
def test_a_call_counts_unless_it_was_refused(data: dict[str, bool], count: int) -> None:
    assert counted_calls([make_event(EventKind.TOOL_RESULT, 1, data=data)]) == count
    assert counted_calls([make_event(EventKind.TOOL_CALL, 1, data=data)]) == 0
