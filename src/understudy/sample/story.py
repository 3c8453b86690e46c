"""The story of the sample workspace: the calls that create it, and the script of its model."""

import tomllib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

from understudy.settings import RouteConfig

HERE: Final = Path(__file__).parent
# The built-in route of the sample's agents, so that the sample calls no real model.
ROUTE: Final = "understudy-sample"
ROUTES: Final[Mapping[str, RouteConfig]] = {
    ROUTE: RouteConfig(provider="scripted", script=HERE / "replies.toml")
}
# The owner of the sample's agents, which distinguishes them from others of the same name.
OWNER: Final = "understudy-sample"
REFERENCE: Final = "$"


class CallRefused(Exception):
    """An operation refused a call, with the reason."""

    def __init__(self, operation: str, reason: str) -> None:
        super().__init__(reason)
        self.operation = operation


class Call(Protocol):
    """Calls an operation with a body and path parameters; raises `CallRefused`."""

    def __call__(self, operation: str, /, *, body: object = None, **ids: str) -> Awaitable[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryStep:
    """One call; later steps refer to its answer by the name `keep`."""

    call: str
    ids: Mapping[str, str]
    body: Any
    keep: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The contents of the sample, and the calls that create it."""

    agents: tuple[str, ...]
    skills: tuple[str, ...]
    rollouts: tuple[str, ...]
    # The session of the last step: if it exists, the sample is complete.
    last_session: str
    steps: tuple[StoryStep, ...]


@cache
def story() -> Story:
    """The story that is shipped."""
    told = tomllib.loads((HERE / "story.toml").read_text(encoding="utf-8"))
    return Story(
        agents=tuple(told["agents"]),
        skills=tuple(told["skills"]),
        rollouts=tuple(told["rollouts"]),
        last_session=told["last_session"],
        steps=tuple(
            StoryStep(
                call=step["call"],
                ids=step.get("ids", {}),
                body=step.get("body"),
                keep=step.get("keep", ""),
            )
            for step in told["step"]
        ),
    )


async def play(step: StoryStep, call: Call, kept: dict[str, Any]) -> None:
    """Call the operation of a step, with references to earlier answers filled in."""
    try:
        ids, body = _filled(step.ids, kept), _filled(step.body, kept)
    except LookupError as missing:
        reason = f"an earlier answer lacks what it needs ({missing})"
        raise CallRefused(step.call, reason) from missing
    answer = await call(step.call, body=body, **ids)
    if step.keep:
        kept[step.keep] = answer


def _filled(value: Any, kept: Mapping[str, Any]) -> Any:
    """A value with each reference `$name.field.field` replaced by that part of an answer."""
    if isinstance(value, Mapping):
        return {name: _filled(each, kept) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, kept) for each in value]
    if not isinstance(value, str) or not value.startswith(REFERENCE):
        return value
    name, *path = value.removeprefix(REFERENCE).split(".")
    found = kept[name]
    for part in path:
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found
