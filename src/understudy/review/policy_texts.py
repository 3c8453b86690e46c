"""What of a policy somebody wrote freely, with the place where it stands."""

from collections.abc import Iterator, Mapping
from typing import Any

from understudy.learnings.capture_settings import ModelChoice
from understudy.review.policy import LearningPolicy, PublicationSettings


def model_choices(policy: LearningPolicy) -> dict[str, ModelChoice | None]:
    """The models that a policy names."""
    return {
        "/capture/semantic_candidates/model": policy.capture.semantic_candidates.model,
        "/judge/model": policy.judge.model,
    }


def texts_in(policy: LearningPolicy) -> Iterator[tuple[str, str]]:
    """Names, ids and settings of models."""
    yield from _of_rules(policy.publication)
    for pointer, choice in model_choices(policy).items():
        if choice is not None:
            yield from _texts(f"{pointer}/provider", choice.provider)
            yield from _texts(f"{pointer}/generation", choice.generation)


def _of_rules(settings: PublicationSettings) -> Iterator[tuple[str, str]]:
    yield from _texts("/publication/quarantined_rule_names", settings.quarantined_rule_names)
    for index, rule in enumerate(settings.rules):
        named = {"name": rule.name, "scope_id": rule.scope_id}
        yield from _texts(f"/publication/rules/{index}", named)


def _texts(pointer: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a value."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(f"{pointer}/{name}", item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _texts(f"{pointer}/{index}", item)
