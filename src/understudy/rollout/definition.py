"""Validation of the definition in a promotion request."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from understudy.agents.built_in import VERIFICATION_AGENT_ID
from understudy.core.errors import FieldError, coded_error
from understudy.core.invisible_characters import hidden_in
from understudy.learnings.guard import SecretGuard
from understudy.rollout.model import Definition, Stage
from understudy.skills.catalogue import BASE_DIR
from understudy.skills.fields import WrongValue, tool_names
from understudy.skills.instructions import FOLDER_NAME
from understudy.skills.model import ID_PREFIX, LOCAL, PROMOTED
from understudy.skills.runtime_settings import RuntimeSettings, SkillContext

MAX_NAME_CHARS: Final = 128
MAX_INSTRUCTIONS_CHARS: Final = 32_000
MAX_LINE_CHARS: Final = 1_000
MAX_VERSION_CHARS: Final = 100
MAX_WORD_CHARS: Final = 200
# Reveals nothing of the learning: readers of skill lists need not see its content.
DEFAULT_DESCRIPTION: Final = "A procedure that was learned here, reviewed, and promoted to a skill."
# A leading dash would be an option of a command, and signs alone are no name.
_NAME: Final = re.compile(
    rf"(?=[:_-]*[A-Za-z0-9])[A-Za-z0-9:_][A-Za-z0-9:_-]{{0,{MAX_NAME_CHARS - 1}}}"
)
# Placeholders for a skill's folder; `${baseDir}` is a shell variable and no placeholder.
_FOLDER: Final = re.compile(rf"{re.escape(FOLDER_NAME)}|(?<!\$){re.escape(BASE_DIR)}")
# Prefixes of references to other kinds of skills.
RESERVED: Final = (LOCAL, PROMOTED, ID_PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The request to promote a procedure."""

    skill_name: str
    instructions: str = field(repr=False)
    description: str | None = None
    when_to_use: str | None = None
    version: str | None = None
    allowed_tools: Sequence[str] = ()
    blocked_tools: Sequence[str] = ()
    context: str = SkillContext.FORK
    agent_profile: str | None = None
    provider: str | None = None
    model: str | None = None
    fallback_model: str | None = None
    # None: draft, or active where the rollout is active already.
    status: Stage | None = None


# One-line fields that may be left out, and how long they may be.
LINES: Final[Mapping[str, int]] = {
    "description": MAX_LINE_CHARS,
    "when_to_use": MAX_LINE_CHARS,
    "version": MAX_VERSION_CHARS,
    "provider": MAX_WORD_CHARS,
    "model": MAX_WORD_CHARS,
    "fallback_model": MAX_WORD_CHARS,
}
TEXTS: Final[Mapping[str, int]] = {
    "skill_name": MAX_NAME_CHARS,
    "instructions": MAX_INSTRUCTIONS_CHARS,
    **LINES,
}
TOOLS: Final = ("allowed_tools", "blocked_tools")


def check_definition(wanted: Promotion, guard: SecretGuard) -> Definition:
    """The definition of a request, or `Invalid` with every problem."""
    # Secrets first: the details of other errors may repeat what was sent.
    if secrets := [*_secrets(wanted, guard)]:
        raise coded_error(
            "rollout/secret_definition", errors=tuple(secrets), detail=secrets[0].detail
        )
    problems = [*_wrong(wanted), *_wrong_lines(wanted), *_wrong_tools(wanted)]
    if problems:
        raise coded_error(
            "rollout/invalid_definition", errors=tuple(problems), detail=problems[0].detail
        )
    lines = {name: _line(getattr(wanted, name)) for name in LINES}
    return Definition(
        skill_name=wanted.skill_name,
        description=lines["description"] or DEFAULT_DESCRIPTION,
        instructions=_text(wanted.instructions),
        when_to_use=lines["when_to_use"],
        version=lines["version"],
        runtime=RuntimeSettings(
            allowed_tools=tool_names(tuple(wanted.allowed_tools)),
            blocked_tools=tool_names(tuple(wanted.blocked_tools)),
            context=SkillContext.FORK,
            agent_profile=VERIFICATION_AGENT_ID,
            provider=lines["provider"],
            model=lines["model"],
            fallback_model=lines["fallback_model"],
        ),
    )


# Field, predicate that holds when it is wrong, and the detail of the error.
_RULES: Final[tuple[tuple[str, Callable[[Promotion], bool], str], ...]] = (
    (
        "skill_name",
        lambda it: _NAME.fullmatch(it.skill_name) is None,
        f"skill_name has 1 to {MAX_NAME_CHARS} of a-z, A-Z, digits and : _ -, not only signs, and no - first",
    ),
    (
        "skill_name",
        lambda it: it.skill_name.casefold().startswith(RESERVED),
        f"skill_name does not begin with {', '.join(RESERVED)}",
    ),
    (
        "instructions",
        lambda it: not it.instructions.strip(),
        "instructions must not be blank",
    ),
    (
        "instructions",
        lambda it: len(it.instructions) > MAX_INSTRUCTIONS_CHARS,
        f"instructions has at most {MAX_INSTRUCTIONS_CHARS} characters",
    ),
    (
        "instructions",
        lambda it: hidden_in(_text(it.instructions)) is not None,
        "instructions must not hide characters from readers",
    ),
    (
        "instructions",
        lambda it: _FOLDER.search(it.instructions) is not None,
        f"a promoted skill has no folder that {FOLDER_NAME} or {BASE_DIR} could stand for",
    ),
    (
        "context",
        lambda it: it.context != SkillContext.FORK,
        "a promoted procedure runs with context fork",
    ),
    (
        "agent_profile",
        lambda it: _line(it.agent_profile) not in {None, VERIFICATION_AGENT_ID},
        f"a promoted procedure runs with the agent profile {VERIFICATION_AGENT_ID}",
    ),
)


def is_skill_name(name: str) -> bool:
    """Whether a promoted skill can have this name."""
    return _NAME.fullmatch(name) is not None and not name.casefold().startswith(RESERVED)


def _wrong(wanted: Promotion) -> Iterator[FieldError]:
    for name, is_wrong, says in _RULES:
        if is_wrong(wanted):
            yield _problem(name, says)


def _wrong_lines(wanted: Promotion) -> Iterator[FieldError]:
    for name, most in LINES.items():
        given = getattr(wanted, name) or ""
        if len(given) > most:
            yield _problem(name, f"{name} has at most {most} characters")
        elif hidden_in(given) is not None:
            yield _problem(name, f"{name} must not hide characters from readers")


def _wrong_tools(wanted: Promotion) -> Iterator[FieldError]:
    for name in TOOLS:
        try:
            tool_names(tuple(getattr(wanted, name)))
        except WrongValue as problem:
            yield _problem(name, f"{name}: {problem}")
        for at, each in enumerate(getattr(wanted, name)):
            # Without blank names the list could become empty, and an empty list allows every tool.
            if not each.strip():
                yield _problem(name, f"{name} must not have a blank name", f"/{at}")


def _secrets(wanted: Promotion, guard: SecretGuard) -> Iterator[FieldError]:
    """Errors for texts that look like a secret, in any field that models or lists show."""
    # Longer texts are refused by their length; only this much is scanned.
    texts = {f"/{name}": (getattr(wanted, name) or "")[:most] for name, most in TEXTS.items()}
    for name in TOOLS:
        given = enumerate(getattr(wanted, name))
        texts |= {f"/{name}/{at}": each[:MAX_WORD_CHARS] for at, each in given}
    for pointer, text in texts.items():
        why = guard.reason(text, strictly=True)
        if why is not None:
            detail = f"this looks like secret material ({why}), which no skill may tell"
            yield FieldError(pointer=pointer, code="secret_definition", detail=detail)


def _problem(name: str, says: str, at: str = "") -> FieldError:
    return FieldError(pointer=f"/{name}{at}", code=f"invalid_{name}", detail=says)


def _text(given: str) -> str:
    return given.replace("\r\n", "\n").strip()


def _line(given: str | None) -> str | None:
    """The text on one line with single blanks; None where it is blank."""
    return " ".join((given or "").split()) or None
