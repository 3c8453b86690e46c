"""Prometheus counters; every label comes from a closed set, never an id."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
OTHER: Final = "other"
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# From a scripted reply to a run that waited a day for a person.
RUN_SECONDS: Final = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21600, 86400)
# The counters of run memory, by their names in `/v1/status`.
RUN_MEMORY: Final[Mapping[str, tuple[str, str]]] = {
    "stored_total": ("understudy_run_memory_stored_total", "Records that were stored."),
    "injected_total": ("understudy_run_memory_injected_total", "Records that reached a prompt."),
    "skipped_unreadable_total": (
        "understudy_run_memory_skipped_unreadable_total",
        "Records that could not be read.",
    ),
    "pruned_ttl_total": (
        "understudy_run_memory_pruned_ttl_total",
        "Records removed because their time was over.",
    ),
    "pruned_overflow_total": (
        "understudy_run_memory_pruned_overflow_total",
        "Records removed because their session had too many.",
    ),
    "pruned_orphan_total": (
        "understudy_run_memory_pruned_orphan_total",
        "Files removed because they belonged to no run.",
    ),
    "redacted_fields_total": (
        "understudy_run_memory_redacted_fields_total",
        "Fields that something was taken out of.",
    ),
    "ranked_candidates_total": (
        "understudy_run_memory_ranked_candidates_total",
        "Records that were ranked for a prompt.",
    ),
    "prompt_limit_omitted_total": (
        "understudy_run_memory_prompt_limit_omitted_total",
        "Records that were left out of a prompt for want of room.",
    ),
}
# The counters of learnings in prompts.
SESSION_MEMORY: Final[Mapping[str, tuple[str, str]]] = {
    "injected_total": ("understudy_learning_injected_total", "Learnings that reached a prompt."),
    "prompt_limit_omitted_total": (
        "understudy_learning_prompt_limit_omitted_total",
        "Learnings that were left out of a prompt for want of room.",
    ),
    "below_floor_total": (
        "understudy_learning_below_floor_total",
        "Learnings that matched an input and covered too little of it.",
    ),
}
# A counter and its label; an empty label means a single number.
Labelled = Mapping[str, tuple[str, str, tuple[str, ...]]]
# The counters of learnings, candidates and review.
LEARNING: Final[Labelled] = {
    "candidates_total": (
        "understudy_learning_candidates_total",
        "Candidates that were proposed, by how they were found.",
        ("path",),
    ),
    "reviews_total": (
        "understudy_learning_reviews_total",
        "Reviews of candidates by automation, by the action it came to.",
        ("action",),
    ),
    "judge_failures_total": (
        "understudy_learning_judge_failures_total",
        "Times that the judge gave no usable answer.",
        (),
    ),
    "publications_total": (
        "understudy_learning_publications_total",
        "Learnings that were published, by who decided.",
        ("decision",),
    ),
}

# The counters of rollouts.
ROLLOUT: Final[Labelled] = {
    "events_total": (
        "understudy_rollout_events_total",
        "What happened to promoted skills.",
        ("event",),
    ),
    "evidence_total": (
        "understudy_rollout_evidence_total",
        "Runs that were accepted as evidence, by kind, proof and outcome.",
        ("evidence",),
    ),
    "uses_total": (
        "understudy_rollout_uses_total",
        "Runs that used a promoted skill and have ended, by the stage it was in then and outcome.",
        ("use",),
    ),
}

# The counters of the guard.
GUARD: Final[Labelled] = {
    "rejections_total": (
        "understudy_guard_rejections_total",
        "Skills that the content guard refused, by rule.",
        ("rule",),
    ),
}


class Metrics:
    """The metrics of this daemon since its start."""

    def __init__(self, tool_names: Iterable[str] = ()) -> None:
        self._tool_names = frozenset(tool_names)
        self._registry = registry = CollectorRegistry()
        self._runs = Counter(
            "understudy_runs_total", "Runs that ended.", ["status"], registry=registry
        )
        self._run_seconds = Histogram(
            "understudy_run_seconds",
            "Seconds from the start of a run to its end.",
            buckets=RUN_SECONDS,
            registry=registry,
        )
        self._runs_active = Gauge(
            "understudy_runs_active", "Runs under way in this daemon.", registry=registry
        )
        self._model_calls = Counter(
            "understudy_model_calls_total",
            "Model calls by provider and outcome.",
            ["provider", "outcome"],
            registry=registry,
        )
        self._tool_calls = Counter(
            "understudy_tool_calls_total",
            "Tool calls by tool and outcome.",
            ["tool", "outcome"],
            registry=registry,
        )
        self._tokens = Counter(
            "understudy_tokens_total",
            "Tokens as providers count them.",
            ["direction"],
            registry=registry,
        )
        self._http_requests = Counter(
            "understudy_http_requests_total",
            "HTTP requests by method and class of status.",
            ["method", "status_class"],
            registry=registry,
        )

        self._deliveries = Counter(
            "understudy_delivery_attempts_total",
            "Attempts to deliver to a webhook, by outcome.",
            ["outcome"],
            registry=registry,
        )

    def run_started(self) -> None:
        """Count a run that started or resumed in this daemon."""
        self._runs_active.inc()

    def run_left(self) -> None:
        """Count a run that is no longer active in this daemon, ended or not."""
        self._runs_active.dec()

    def run_ended(self, status: str, *, seconds: float) -> None:
        """Count a run that reached a terminal status."""
        self._runs.labels(status=status).inc()
        self._run_seconds.observe(seconds)

    def model_called(self, provider: str, *, outcome: str) -> None:
        """Count a model call by its outcome."""
        self._model_calls.labels(provider=provider, outcome=outcome).inc()

    def tool_called(self, tool: str, *, outcome: str) -> None:
        """Count a tool call by its outcome; a name that the model made up counts as `other`."""
        known = tool if tool in self._tool_names else OTHER
        self._tool_calls.labels(tool=known, outcome=outcome).inc()

    def tokens_used(self, *, input_tokens: int, output_tokens: int) -> None:
        """Count the tokens of a model call."""
        self._tokens.labels(direction="input").inc(input_tokens)
        self._tokens.labels(direction="output").inc(output_tokens)

    def http_answered(self, method: str, *, status: int) -> None:
        """Count an HTTP request that was answered."""
        known = method if method in METHODS else OTHER
        self._http_requests.labels(method=known, status_class=f"{status // 100}xx").inc()

    def delivery_tried(self, *, outcome: str) -> None:
        """Count a webhook delivery attempt: `delivered`, `retry` or `dead`."""
        self._deliveries.labels(outcome=outcome).inc()

    def watch_run_memory(self, snapshot: Callable[[], Mapping[str, int]]) -> None:
        """Export the counters of run memory, read at each scrape."""
        self._registry.register(SumsCollector(snapshot, RUN_MEMORY))

    def watch_session_memory(self, snapshot: Callable[[], Mapping[str, int]]) -> None:
        """Export the counters of learnings in prompts, read at each scrape."""
        self._registry.register(SumsCollector(snapshot, SESSION_MEMORY))

    def watch_learning(self, snapshot: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
        """Export the counters of learning, read at each scrape."""
        self._registry.register(LabelledCollector(snapshot, LEARNING))

    def watch_rollouts(self, snapshot: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
        """Export the counters of rollouts, read at each scrape."""
        self._registry.register(LabelledCollector(snapshot, ROLLOUT))

    def watch_guard(self, snapshot: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
        """Export the counters of the guard, read at each scrape."""
        self._registry.register(LabelledCollector(snapshot, GUARD))

    def render(self) -> bytes:
        """All metrics in the Prometheus text format."""
        return generate_latest(self._registry)


# `eq=False`: registries hash a collector by identity.
@dataclass(frozen=True, slots=True, eq=False)
class SumsCollector(Collector):
    """Counters kept elsewhere, such as those of run memory."""

    snapshot: Callable[[], Mapping[str, int]]
    named: Mapping[str, tuple[str, str]]

    def collect(self) -> Iterator[CounterMetricFamily]:
        """The current value of each counter."""
        counted = self.snapshot()
        for name, (metric, said) in self.named.items():
            yield CounterMetricFamily(metric, said, value=counted[name])


@dataclass(frozen=True, slots=True, eq=False)
class LabelledCollector(Collector):
    """Labelled counters kept elsewhere, such as those of learning."""

    snapshot: Callable[[], Mapping[str, Mapping[str, int]]]
    named: Labelled

    def collect(self) -> Iterator[CounterMetricFamily]:
        """The current value of each counter."""
        counted = self.snapshot()
        for name, (metric, said, labels) in self.named.items():
            family = CounterMetricFamily(metric, said, labels=labels)
            for value, count in counted[name].items():
                family.add_metric([value] if labels else [], count)
            yield family
