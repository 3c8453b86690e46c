"""Trace context: which headers name a trace, and the ids of a run."""

import pytest

from understudy.core.trace_context import span_id_of, traceparent_of, valid_traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
VALID = f"00-{TRACE}-{SPAN}-01"


def test_a_header_of_the_standard_is_taken() -> None:
    assert valid_traceparent(VALID) == VALID


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "x",
        VALID.upper(),
        VALID + "-more",
        VALID.replace("00-", "ff-", 1),
        VALID.replace(TRACE, "0" * 32),
        VALID.replace(SPAN, "0" * 16),
    ],
)
def test_a_header_that_names_no_trace_is_left_out(header: str | None) -> None:
    assert valid_traceparent(header) is None


def test_a_run_stays_in_the_trace_of_its_caller_under_a_span_of_its_own() -> None:
    assert traceparent_of("run_1", VALID) == f"00-{TRACE}-{span_id_of('run_1')}-01"


def test_a_run_without_a_caller_has_the_same_trace_at_every_execution() -> None:
    own = traceparent_of("run_1", None)

    assert own == traceparent_of("run_1", None) != traceparent_of("run_2", None)
    assert valid_traceparent(own) == own
