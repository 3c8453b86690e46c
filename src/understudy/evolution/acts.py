"""The tool calls that need a user's consent: their subjects, and requests for them in a message."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, Final

from understudy.agents.model import SOUL
from understudy.core.dataclass import dataclass
from understudy.core.text import Scrub, preview, printable
from understudy.evolution.answers import MAX_MESSAGE_CHARS, MessageIntent, intent_of
from understudy.evolution.identity.sentences import asks_for_manner
from understudy.evolution.requests.grammar import (
    LANGUAGES,
    NOTHING,
    Grammar,
    grammar_of,
    named_asks,
    signs,
)
from understudy.evolution.requests.skill_requests import asks_for
from understudy.evolution.visible_text import plain, word_line
from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.learnings.pastes import holds_paste
from understudy.learnings.quotations import sentences
from understudy.redaction.scrub import scrub as without_secrets
from understudy.skills.bundles.limits import MAX_MANIFEST_BYTES
from understudy.skills.bundles.manifest import read

# A polite question is always about something definite: a named skill, or the one just mentioned.
_AT_HAND: Final = re.compile("")
# Longer names are not matched.
MAX_NAME_CHARS: Final = 200
# The name as a whole word: no part of a path or of another name.
_PART: Final = rf"[^\W{HAN_AND_KANA}]"
_AS_WRITTEN: Final = rf"(?<!{_PART})(?<![/\\.~-]){{}}(?!{_PART}|[/\\-]|\.\w)"
_HYPHENATED: Final = re.compile(r"\w+(?:-\w+)+")
# Verbs by which somebody wants a file written, and words that take it back.
_WRITES: Final = re.compile(
    r"\b(?:write|update|put|add|save|note|record|edit|change|set|store|append|replace|fill|remember|keep|clear|empty|delete|remove"
    r"|ghi|cập nhật|lưu|thêm|sửa|viết|xoá|xóa)\b|[写寫记記加改存删]|更新|清空"
)  # fmt: skip
_REFUSES: Final = re.compile(
    r"\b(?:not|never|no|without|don['\u2019]?t|if|why|who|what|did|does|has|was|đừng|không|nếu|ai)\b|[不别勿没]|如果|为什么|谁"
)
MAX_SHOWN_CHARS: Final = 80
MANAGE: Final = "skill_manage"
PUBLISH: Final = "publish_skill"
WRITE: Final = "write_file"
EDIT: Final = "edit_file"


def asks_to_delete(text: str, slug: str, *, is_spoken_of: bool = False) -> bool:
    """Whether the writer asks that this skill be deleted.

    The message calls it a skill or writes its hyphens; `the skill` alone counts if it `is_spoken_of`.
    """
    return _asks_about(text, "delete", (slug,), is_spoken_of=is_spoken_of)


def asks_to_patch(text: str, names: tuple[str, ...], *, is_spoken_of: bool = False) -> bool:
    """The same for changing the skill with one of these names."""
    return _asks_about(text, "patch", names, is_spoken_of=is_spoken_of)


def _asks_about(text: str, request: str, names: tuple[str, ...], *, is_spoken_of: bool) -> bool:
    names = tuple(name for name in names if _words(name))
    requests = (request, f"{request}_it") if is_spoken_of else (request,)
    if any(names and _asks(text, _grammars(each, names)) for each in requests):
        return True
    return any(_asks(text, _grammars_of_bare_name(f"{request}_bare", name)) for name in names)


def asks_to_publish(text: str, path: str) -> bool:
    """Whether the writer asks that this folder be published, by its path or its name."""
    names = (path, path.rstrip("/").rpartition("/")[2])
    return _asks(text, _grammars("publish", names))


def asks_to_write(text: str, name: str) -> bool:
    """Whether the writer asks that a context file be written: by its name, or SOUL.md by a manner.

    A message that hands over a text of others asks for nothing.
    """
    if len(text) > MAX_MESSAGE_CHARS or holds_paste(text):
        return False
    named = re.compile(rf"(?<![\w/.-]){re.escape(plain(name))}(?![\w/-])")
    said = [plain(text[start:end]) for start, end in sentences(text)]
    return any(
        (named.search(it) and _WRITES.search(it)) or (name == SOUL and asks_for_manner(it))
        for it in said
        if not _REFUSES.search(it)
    )


def _asks(text: str, grammars: Sequence[Grammar]) -> bool:
    return len(text) <= MAX_MESSAGE_CHARS and asks_for(text, grammars)


# The same few names are mostly asked about again.
@lru_cache(maxsize=32)
def _grammars(request: str, names: tuple[str, ...]) -> tuple[Grammar, ...]:
    """The grammars of a request about something with one of these names."""
    return tuple(_grammar(language, request, names) for language in LANGUAGES)


@lru_cache(maxsize=32)
def _grammars_of_bare_name(request: str, slug: str) -> tuple[Grammar, ...]:
    """Grammars that name a skill by its hyphenated slug alone; none for a single word."""
    written = plain(slug)
    if _HYPHENATED.fullmatch(written) is None:
        return ()
    about = re.compile(_AS_WRITTEN.format(re.escape(written)))
    grammars = (_grammar(language, request, (slug,)) for language in LANGUAGES)
    # No connectors: nothing may follow the name.
    return tuple(
        replace(it, about=about, connectors=(), modals=grammar_of(it.language).modals)
        for it in grammars
    )


def _grammar(language: str, request: str, names: Sequence[str]) -> Grammar:
    named = {_words(name) for name in names if len(name) <= MAX_NAME_CHARS} - {""}
    # An empty alternation would match everything.
    name = "|".join(re.escape(each) for each in sorted(named)) or r"(?!)"
    grammar = grammar_of(language)
    about = named_asks(language, f"{request}_about")
    return replace(
        grammar,
        about=signs(*about) if about else grammar.about,
        tasks=(),
        # Something that exists is at stake, so a question counts only if it cannot be a request for
        # permission.
        modals=named_asks(language, "modals") or grammar.modals,
        asks=tuple(ask.replace("{name}", f"(?:{name})") for ask in named_asks(language, request)),
        # Other English connectors change the object: `for Bob`.
        connectors=named_asks(language, f"{request}_connectors")
        or named_asks(language, "connectors")
        or grammar.connectors,
        definite=_AT_HAND,
        describes=NOTHING,
    )


def _words(name: str) -> str:
    return word_line(plain(name))


class Purpose(StrEnum):
    """The purpose of a consent; consent to one is none to the other."""

    KEEP = "keep"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A tool call that needs the consent of the user."""

    purpose: Purpose
    # The action of the audit entry.
    action: str
    tool_name: str
    # The slug or the folder that it is about; empty where it has none yet.
    subject: str = ""
    # The arguments that are shown to people.
    shown: Mapping[str, str] = field(default_factory=dict)

    def covers(self, other: "Act") -> bool:
        """Whether consent to this one is consent to the other.

        A skill to keep is written only after the consent, so its name does not matter; for a deletion
        the user must have been shown the same skill.
        """
        if self.purpose is not other.purpose:
            return False
        return self.purpose is Purpose.KEEP or self.subject == other.subject != ""

    def is_asked_for(self, words: str, *, is_spoken_of: bool = False) -> bool:
        """Whether a user's own message asks for it, or accepts the offer of it.

        The message must name the subject, unless it `is_spoken_of`, as in an open offer.
        """
        return _ASKED[self.action](words, self.subject, is_spoken_of)


def act_of(
    tool_name: str,
    arguments: Mapping[str, Any],
    *,
    is_local_skill: Callable[[str], bool] = lambda _: False,
    scrub: Scrub = without_secrets,
) -> Act | None:
    """The act of a call with these arguments; None where it needs no consent.

    `is_local_skill` tells whether a path in the workspace is the SKILL.md of a local skill.
    """
    about = _ACTS.get((tool_name, str(arguments.get("action", ""))))
    if about is None:
        return None
    if tool_name in _WRITERS and not is_local_skill(str(arguments.get("path", ""))):
        return None
    return about(arguments, scrub)


def _keeps(arguments: Mapping[str, Any], scrub: Scrub) -> Act:
    name = _text(arguments, "slug", scrub) or _name_in(arguments, scrub)
    return Act(
        purpose=Purpose.KEEP,
        action="skills.create",
        tool_name=MANAGE,
        subject=name,
        shown={"action": "create", **({"slug": name} if name else {})},
    )


def _deletes(arguments: Mapping[str, Any], scrub: Scrub) -> Act:
    slug = _text(arguments, "slug", scrub)
    return Act(
        purpose=Purpose.DELETE,
        action="skills.delete",
        tool_name=MANAGE,
        subject=slug,
        shown={"action": "delete", "slug": slug},
    )


def _publishes(arguments: Mapping[str, Any], scrub: Scrub) -> Act:
    path = _text(arguments, "path", scrub)
    return Act(
        purpose=Purpose.KEEP,
        action="skills.publish",
        tool_name=PUBLISH,
        subject=path,
        shown={"path": path},
    )


def _writes(tool_name: str, arguments: Mapping[str, Any], scrub: Scrub) -> Act:
    path = _text(arguments, "path", scrub)
    return Act(
        purpose=Purpose.KEEP,
        action="skills.write",
        tool_name=tool_name,
        subject=path,
        shown={"path": path},
    )


def _text(arguments: Mapping[str, Any], name: str, scrub: Scrub) -> str:
    value = arguments.get(name)
    return _showable(value, scrub) if isinstance(value, str) else ""


def _name_in(arguments: Mapping[str, Any], scrub: Scrub) -> str:
    content = arguments.get("content")
    if not isinstance(content, str) or len(content) > MAX_MANIFEST_BYTES:
        return ""
    return _showable(read(content).manifest.name, scrub)


def _showable(name: str, scrub: Scrub) -> str:
    """A name from a model as people and the audit may see it: short and printable.

    Empty if it looks like a secret: the redacted rest would name something else.
    """
    if scrub(name) != name:
        return ""
    return printable(preview(name, MAX_SHOWN_CHARS))


# By tool and action. A patch needs no consent: it makes a version that can be restored.
_ACTS: Final[Mapping[tuple[str, str], Callable[[Mapping[str, Any], Scrub], Act]]] = {
    (MANAGE, "create"): _keeps,
    (MANAGE, "delete"): _deletes,
    (PUBLISH, ""): _publishes,
    (WRITE, ""): partial(_writes, WRITE),
    (EDIT, ""): partial(_writes, EDIT),
}
TOOLS_WITH_CONSENT: Final = frozenset(tool for tool, _ in _ACTS)
# Writes need consent only below the roots of local skills.
_WRITERS: Final = frozenset({WRITE, EDIT})
# The offer below a reply: keep the work of this run as a skill.
THIS_WORK: Final = Act(
    purpose=Purpose.KEEP, action="skills.create", tool_name=MANAGE, shown={"action": "create"}
)


def _wants_skill(words: str) -> bool:
    return intent_of(words) in (MessageIntent.ACCEPT, MessageIntent.REQUEST)


_ASKED: Final[Mapping[str, Callable[[str, str, bool], bool]]] = {
    "skills.create": lambda words, _, __: _wants_skill(words),
    "skills.write": lambda words, _, __: _wants_skill(words),
    "skills.publish": lambda words, path, _: _wants_skill(words) or asks_to_publish(words, path),
    "skills.delete": lambda words, slug, spoken: asks_to_delete(words, slug, is_spoken_of=spoken),
}
