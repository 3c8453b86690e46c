"""What the policy says about proposing candidates from runs."""

from dataclasses import dataclass
from typing import Final

MAX_CANDIDATES_PER_RUN: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A route other than the daemon's own, and how it is to answer."""

    # A route id; None is the default route.
    provider: str | None = None
    generation: dict[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticCaptureSettings:
    """Whether facts, preferences and decisions are looked for in completed runs."""

    enabled: bool = False
    model: ModelChoice | None = None
    timeout_ms: int | None = None
    max_candidates_per_run: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """What is proposed without anybody asking."""

    run_summary_candidates: bool = True
    semantic_candidates: SemanticCaptureSettings = SemanticCaptureSettings()
