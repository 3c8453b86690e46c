"""The tool calls that need a user's consent: their subjects, and requests for them in a message."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, partial
from typing import Any, Final

from understudy.agents.model import SOUL
from understudy.core.text import Scrub, preview, printable
from understudy.evolution.answers import (
    MAX_MESSAGE_CHARS,
    MessageIntent,
    consists_of,
    intent_of,
    listed,
    spoken,
    words_of,
)
from understudy.evolution.visible_text import plain
from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.learnings.pastes import holds_paste
from understudy.learnings.quotations import sentences
from understudy.patterns.word_lists import WordLists
from understudy.redaction.scrub import scrub as without_secrets
from understudy.skills.bundles.limits import MAX_MANIFEST_BYTES
from understudy.skills.bundles.manifest import read

# The name as a whole word: no part of a path or of another name.
_PART: Final = rf"[^\W{HAN_AND_KANA}]"
_AS_WRITTEN: Final = rf"(?<!{_PART})(?<![/\\.~-]){{}}(?!{_PART}|[/\\-]|\.\w)"
# A name without one of these may be a word of any sentence.
_NAME_SIGN: Final = re.compile(r"\w[-/.]\w")
_WORDS: Final = WordLists("understudy.evolution")
# Stands for the name; a letter that nobody types.
NAME: Final = "\ua78f"
# Words that may stand around the verb and the name of a request.
_AROUND: Final = ("polite", "beside", "skill")
MAX_SHOWN_CHARS: Final = 80
MANAGE: Final = "skill_manage"
PUBLISH: Final = "publish_skill"
WRITE: Final = "write_file"
EDIT: Final = "edit_file"


def asks_to_delete(text: str, slug: str, *, is_spoken_of: bool = False) -> bool:
    """Whether the whole message asks to delete this skill, by its slug.

    `the skill` alone counts if it `is_spoken_of`.
    """
    return _asks_for("delete", text, slug) or (
        is_spoken_of
        and words_of(slug) != ()
        and consists_of(text, listed("delete"), listed("skill"), around=_AROUND)
    )


def asks_to_publish(text: str, path: str) -> bool:
    """Whether the whole message asks to publish this folder, by its path."""
    return _asks_for("publish", text, path)


def asks_to_patch(text: str, names: Sequence[str], *, is_spoken_of: bool = False) -> bool:
    """Whether a message begins by asking to change the skill with one of these names.

    What follows says how to change it. A negation or a question anywhere makes it no request.
    """
    said = plain(text[:MAX_MESSAGE_CHARS]).replace("\u2019", "'")
    if len(text) > MAX_MESSAGE_CHARS or "?" in said or _one_of("doubt").search(said):
        return False
    is_meant = is_spoken_of and consists_of(
        text, listed("patch"), listed("skill"), around=_AROUND, may_go_on=True
    )
    return is_meant or any(_asks_for("patch", text, name, may_go_on=True) for name in names)


def _asks_for(request: str, text: str, name: str, *, may_go_on: bool = False) -> bool:
    """Whether a message is made of the verb, the name as it is written, and words of courtesy.

    A name that could be any word (`tests`) must be called a skill, and be none of the other words.
    """
    if not words_of(name) or consists_of(name, around=_AROUND):
        return False
    called = () if _NAME_SIGN.search(name) else (listed("skill"),)
    return consists_of(
        named(text, name), listed(request), (NAME,), *called, around=_AROUND, may_go_on=may_go_on
    )


def named(text: str, name: str) -> str:
    """A message with a mark in place of a name, where it is written as it is."""
    written = _AS_WRITTEN.format(re.escape(plain(name)))
    return re.sub(written, f" {NAME} ", plain(text[:MAX_MESSAGE_CHARS]).replace(NAME, ""))


def asks_to_write(text: str, name: str) -> bool:
    """Whether the writer asks that a context file be written: by its name, or SOUL.md by a manner.

    The sentence with the name has a verb of writing, and neither a negation nor a question. A message
    that hands over a text of others asks for nothing.
    """
    if len(text) > MAX_MESSAGE_CHARS or holds_paste(text):
        return False
    if name == SOUL and consists_of(
        text, listed("manner"), listed("asking"), around=("polite", "degree")
    ):
        return True
    written = re.compile(rf"(?<![\w/.-]){re.escape(plain(name))}(?![\w/-])")
    said = (plain(text[start:end]).replace("\u2019", "'") for start, end in sentences(text))
    return any(
        written.search(sentence) and _one_of("write").search(sentence)
        for sentence in said
        if "?" not in sentence and not _one_of("doubt").search(sentence)
    )


@cache
def _one_of(name: str) -> re.Pattern[str]:
    """A pattern for the words of a list; Chinese has no word boundaries."""
    chinese = "|".join(_WORDS(f"{name}.chinese"))
    spaced = "|".join((*_WORDS(f"{name}.english"), *_WORDS(f"{name}.vietnamese")))
    return re.compile(rf"\b(?:{spaced})\b|{chinese}")


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


def _wants_skill(words: str, name: str = "") -> bool:
    """Whether a message accepts or asks for a skill, perhaps under this name."""
    if intent_of(words) in (MessageIntent.ACCEPT, MessageIntent.REQUEST):
        return True
    said = (*spoken("consent.save"), *spoken("consent.make"))
    return words_of(name) != () and consists_of(named(words, name), said, (NAME,), around=_AROUND)


_ASKED: Final[Mapping[str, Callable[[str, str, bool], bool]]] = {
    "skills.create": lambda words, name, _: _wants_skill(words, name),
    "skills.write": lambda words, _, __: _wants_skill(words),
    "skills.publish": lambda words, path, _: _wants_skill(words) or asks_to_publish(words, path),
    "skills.delete": lambda words, slug, offered: asks_to_delete(words, slug, is_spoken_of=offered),
}
