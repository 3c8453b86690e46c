"""Metrics: the names operators rely on, and labels that cannot grow without end."""

import pytest

from understudy.telemetry.metrics import CONTENT_TYPE, Metrics


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(tool_names=["read_file"])


def rendered(metrics: Metrics) -> set[str]:
    return set(metrics.render().decode().splitlines())


def test_a_run_is_counted_by_its_end_and_active_in_between(metrics: Metrics) -> None:
    metrics.run_started()
    metrics.run_started()
    metrics.run_left()
    metrics.run_ended("completed", seconds=0.3)
    assert {
        "understudy_runs_active 1.0",
        'understudy_runs_total{status="completed"} 1.0',
        'understudy_run_seconds_bucket{le="0.5"} 1.0',
        "understudy_run_seconds_count 1.0",
    } <= rendered(metrics)


def test_model_calls_and_tokens_are_counted(metrics: Metrics) -> None:
    metrics.model_called("openai", outcome="ok")
    metrics.tokens_used(input_tokens=12, output_tokens=3)
    assert {
        'understudy_model_calls_total{outcome="ok",provider="openai"} 1.0',
        'understudy_tokens_total{direction="input"} 12.0',
        'understudy_tokens_total{direction="output"} 3.0',
    } <= rendered(metrics)


def test_a_tool_name_the_model_made_up_counts_as_other(metrics: Metrics) -> None:
    for name in ("read_file", "invented_1", "invented_2"):
        metrics.tool_called(name, outcome="ok")
    assert {
        'understudy_tool_calls_total{outcome="ok",tool="read_file"} 1.0',
        'understudy_tool_calls_total{outcome="ok",tool="other"} 2.0',
    } <= rendered(metrics)
    assert "invented" not in metrics.render().decode()


def test_requests_are_counted_by_method_and_class_of_status(metrics: Metrics) -> None:
    metrics.http_answered("GET", status=204)
    metrics.http_answered("BREW", status=418)
    assert {
        'understudy_http_requests_total{method="GET",status_class="2xx"} 1.0',
        'understudy_http_requests_total{method="other",status_class="4xx"} 1.0',
    } <= rendered(metrics)


def test_what_is_counted_elsewhere_is_shown_as_it_stands(metrics: Metrics) -> None:
    omitted = {"injected_total": 1, "prompt_limit_omitted_total": 0, "below_floor_total": 4}
    learned = {
        "candidates_total": {"api": 2},
        "reviews_total": {"reject": 1, "manual_review": 0},
        "judge_failures_total": {"": 3},
        "publications_total": {"manual": 1},
    }
    promoted = {
        "events_total": {"promote": 2},
        "evidence_total": {"canary_executed_failure": 1},
        "uses_total": {"active_failed": 4},
    }
    metrics.watch_rollouts(lambda: promoted)
    metrics.watch_guard(lambda: {"rejections_total": {"P1.sudo": 5}})
    metrics.watch_session_memory(lambda: omitted)
    metrics.watch_learning(lambda: learned)
    omitted["prompt_limit_omitted_total"] = 6
    assert {
        "understudy_learning_injected_total 1.0",
        "understudy_learning_prompt_limit_omitted_total 6.0",
        "understudy_learning_below_floor_total 4.0",
        'understudy_learning_candidates_total{path="api"} 2.0',
        'understudy_learning_reviews_total{action="reject"} 1.0',
        'understudy_learning_reviews_total{action="manual_review"} 0.0',
        "understudy_learning_judge_failures_total 3.0",
        'understudy_learning_publications_total{decision="manual"} 1.0',
        'understudy_rollout_events_total{event="promote"} 2.0',
        'understudy_rollout_evidence_total{evidence="canary_executed_failure"} 1.0',
        'understudy_rollout_uses_total{use="active_failed"} 4.0',
        'understudy_guard_rejections_total{rule="P1.sudo"} 5.0',
    } <= rendered(metrics)


def test_two_instances_do_not_share_anything(metrics: Metrics) -> None:
    metrics.run_ended("failed", seconds=1)
    assert 'status="failed"' not in Metrics().render().decode()
    assert CONTENT_TYPE.startswith("text/plain")
