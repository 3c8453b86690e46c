"""Capture settings of the learning policy: which candidates are proposed from runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool

from understudy.core.records import OMIT, adapter_of
from understudy.runtime.policy import Line, Number, Says, Whole, check

MAX_CANDIDATES_PER_RUN: Final = 8
MAX_NAME_CHARS: Final = 200
MAX_TIMEOUT_MS: Final = 120_000
MAX_NUMBER: Final = 2**31 - 1
MAX_STOPS: Final = 16

_Stop = Annotated[
    str, Field(strict=True, min_length=1, max_length=MAX_NAME_CHARS, pattern=r"^[^\x00]*$")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Generation:
    """Generation parameters that a policy may set."""

    model: Annotated[str, Line(500)] | None = None
    temperature: Annotated[float, Number(0, 2)] | None = None
    top_p: Annotated[float, Number(0, 1)] | None = None
    max_tokens: Annotated[int, Whole(1, MAX_NUMBER)] | None = None
    seed: Annotated[int, Whole(-(2**63), 2**63 - 1)] | None = None
    stop: (
        Annotated[
            _Stop | Annotated[list[_Stop], Field(max_length=MAX_STOPS)],
            Says(
                f"must be a text or at most {MAX_STOPS} of them, of 1 to {MAX_NAME_CHARS} characters"
            ),
        ]
        | None
    ) = None


def _generation(value: Any) -> Any:
    """Validate generation parameters, and keep them as given."""
    if isinstance(value, dict):
        adapter_of(_Generation).validate_python(value, extra="forbid")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The model route of a policy, and its generation parameters."""

    # A route id; None is the default route.
    provider: Annotated[Annotated[str, Line(MAX_NAME_CHARS, trimmed=True)] | None, OMIT] = None
    generation: Annotated[dict[str, Any] | None, BeforeValidator(_generation), OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticCaptureSettings:
    """Whether facts, preferences and decisions are searched for in completed runs."""

    enabled: StrictBool = True
    model: ModelChoice | None = None
    timeout_ms: Annotated[int, Whole(0, MAX_TIMEOUT_MS)] | None = None
    max_candidates_per_run: Annotated[int, Whole(0, MAX_NUMBER)] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictSettings:
    """How a model is asked whether a statement says the same as a known one, or contradicts it."""

    model: ModelChoice | None = None
    timeout_ms: Annotated[int, Whole(1, MAX_TIMEOUT_MS)] = 8_000


def _checked(semantic: SemanticCaptureSettings) -> SemanticCaptureSettings:
    if semantic.enabled:
        check(_too_little_or_much(semantic))
    return semantic


def _too_little_or_much(semantic: SemanticCaptureSettings) -> Iterator[tuple[str, str, str]]:
    if semantic.timeout_ms == 0:
        yield "timeout_ms", "too_small", "must be above 0 while enabled"
    if not 1 <= semantic.max_candidates_per_run <= MAX_CANDIDATES_PER_RUN:
        detail = f"must be from 1 to {MAX_CANDIDATES_PER_RUN} while enabled"
        yield "max_candidates_per_run", "wrong_value", detail


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """Which candidates the daemon proposes by itself."""

    run_summary_candidates: StrictBool = False
    semantic_candidates: Annotated[SemanticCaptureSettings, AfterValidator(_checked)] = (
        SemanticCaptureSettings()
    )
