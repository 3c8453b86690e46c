"""Messages in which a user asks in their own words to delete a skill, or to publish a folder as one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from understudy.evolution.asking.chinese import CHINESE
from understudy.evolution.asking.english import ENGLISH
from understudy.evolution.asking.grammar import NOTHING, Grammar, signs
from understudy.evolution.asking.requests import asks_for
from understudy.evolution.asking.vietnamese import VIETNAMESE
from understudy.evolution.reading import plain, word_line
from understudy.evolution.wording import MAX_CHARS
from understudy.learnings.wording import HAN_AND_KANA

# What a polite question is about is always at hand: a skill by name, or the one just spoken of.
_AT_HAND: Final = re.compile("")
# What is there is at stake: of questions only those count that nobody asks to hear whether one may.
_MODALS: Final[Mapping[Grammar, tuple[str, ...]]] = {
    ENGLISH: ("(?:can|could) you(?: please| pls| kindly| help me)?", "would you please"),
    CHINESE: ("能不能", "可不可以", "能否", "可否", "能"),
}
# What may follow in English; of the others some would make it something else: `for Bob`.
_CONNECTORS: Final = ("and", "because", "so")
# What is named stands in the place of {name}; nobody types a longer one.
MAX_NAME_CHARS: Final = 200
# A grammar, how it is asked, and that without which a sentence is about something else.
Asks = tuple[tuple[Grammar, tuple[str, ...], re.Pattern[str]], ...]

_DELETE: Final = r"(?:delete|remove|drop|discard|trash|get rid of|throw away)"
_ITS: Final = r"(?:(?:the|this|that|my|your|our) )?"
_OLD: Final = r"(?:(?:old|last|new|same|unused|obsolete) )?"
_XOA: Final = r"(?:xóa|xoá|gỡ|loại bỏ|gỡ bỏ)(?: bỏ| đi)?"
_SHANCHU: Final = "(?:删除|刪除|删掉|刪掉|移除|去掉|清除)"
_THIS_ZH: Final = "(?:这个|這個|那个|那個|该|該|此)"
_KY_NANG: Final = "(?:kỹ|kĩ) năng"
_SAYS_SKILL: Final = tuple(grammar.about for grammar in (ENGLISH, VIETNAMESE, CHINESE))
# By the name, said to be a skill.
DELETING: Final[Asks] = (
    (
        ENGLISH,
        (
            rf"{_DELETE} {_ITS}{_OLD}skill (?:called |named )?{{name}}",
            rf"{_DELETE} {_ITS}{_OLD}{{name}} skill",
        ),
        _SAYS_SKILL[0],
    ),
    (
        VIETNAMESE,
        (rf"{_XOA} {_KY_NANG} (?:tên là |tên |có tên )?{{name}}(?: (?:này|đó|đi))?",),
        _SAYS_SKILL[1],
    ),
    (
        CHINESE,
        (
            f"{_SHANCHU}{_THIS_ZH}?技能{{name}}",
            f"{_SHANCHU}{{name}}{_THIS_ZH}?技能",
            f"(?:把|将|將)(?:技能{{name}}|{{name}}{_THIS_ZH}?技能){_SHANCHU}",
        ),
        _SAYS_SKILL[2],
    ),
)
# As the one that was just spoken of.
DELETING_IT: Final[Asks] = (
    (ENGLISH, (rf"{_DELETE} (?:the|this|that|my|your|our) {_OLD}skill",), _SAYS_SKILL[0]),
    (VIETNAMESE, (rf"{_XOA} {_KY_NANG}(?: (?:này|đó|trên|vừa tạo))?",), _SAYS_SKILL[1]),
    (
        CHINESE,
        (f"{_SHANCHU}{_THIS_ZH}?技能", f"(?:把|将|將){_THIS_ZH}技能{_SHANCHU}"),
        _SAYS_SKILL[2],
    ),
)
# By the bare name, which could be any words unless it is written as a name.
DELETING_NAMED: Final = (
    (ENGLISH, (rf"{_DELETE} {_ITS}{_OLD}{{name}}",)),
    (VIETNAMESE, (rf"{_XOA} {{name}}",)),
    (CHINESE, (f"{_SHANCHU}{{name}}", f"(?:把|将|將){{name}}{_SHANCHU}")),
)
# No name of a file or folder, nor part of another.
_PART: Final = rf"[^\W{HAN_AND_KANA}]"
_AS_WRITTEN: Final = rf"(?<!{_PART})(?<![/\\.~-]){{}}(?!{_PART}|[/\\-]|\.\w)"
_HYPHENATED: Final = re.compile(r"\w+(?:-\w+)+")

_AS_SKILL: Final = r"(?: as (?:(?:a|an|the|my|our) )?(?:new )?skill)?"
_FOLDER_NAMED: Final = (
    r"(?:(?:folder|directory|draft|skill) )?(?:(?:in|at|from|under) )?(?:the )?{name}"
)
_XUAT_BAN: Final = r"(?:xuất bản|phát hành|đăng)"
_THANH_KY_NANG: Final = r"(?: (?:thành|làm) (?:một )?(?:kỹ|kĩ) năng)?"
_FABU: Final = "(?:发布|發布|發佈|发表|發表)"
PUBLISHING: Final[Asks] = (
    (
        ENGLISH,
        (
            rf"publish (?:the|this|that|my|your|our) (?:folder|directory|draft|skill){_AS_SKILL}",
            rf"publish {_ITS}{_FOLDER_NAMED}(?: (?:folder|directory|skill))?{_AS_SKILL}",
        ),
        signs("publish"),
    ),
    (
        VIETNAMESE,
        (
            rf"{_XUAT_BAN} (?:kỹ năng|kĩ năng|thư mục)(?: (?:này|đó|trên))?{_THANH_KY_NANG}",
            rf"{_XUAT_BAN} (?:(?:kỹ năng|kĩ năng|thư mục) )?{{name}}{_THANH_KY_NANG}",
        ),
        signs("xuất bản", "phát hành", "đăng"),
    ),
    (
        CHINESE,
        (
            f"{_FABU}(?:这个|這個|那个|那個|该|該|此)?(?:技能|文件夹|文件夾|目录|目錄)",
            f"{_FABU}(?:技能|文件夹|文件夾|目录|目錄)?{{name}}(?:这个|這個)?(?:技能|文件夹|文件夾|目录|目錄)?",
            f"(?:把|将|將){{name}}(?:文件夹|文件夾|目录|目錄)?{_FABU}(?:为|為|成)技能",
        ),
        signs("发布", "發布", "發佈", "发表", "發表"),
    ),
)  # fmt: skip


def asks_to_delete(text: str, slug: str, *, is_spoken_of: bool = False) -> bool:
    """Whether the writer asks that this skill be deleted.

    They call it a skill, or write its hyphens; only where it `is_spoken_of` is it `the skill`.
    """
    if not _words(slug):
        return False
    named = (DELETING, DELETING_IT) if is_spoken_of else (DELETING,)
    return any(_asks(text, asked, slug) for asked in named) or _asks(text, _written(slug), slug)


def asks_to_publish(text: str, path: str) -> bool:
    """Whether the writer asks that this folder be published, by its path or as the one spoken of."""
    return _asks(text, PUBLISHING, path, path.rstrip("/").rpartition("/")[2])


def _asks(text: str, asked: Asks, *names: str) -> bool:
    return len(text) <= MAX_CHARS and asks_for(text, _grammars(asked, names))


def _written(slug: str) -> Asks:
    """The ways to name a skill by its slug alone; none for a slug that is a plain word."""
    written = plain(slug)
    if _HYPHENATED.fullmatch(written) is None:
        return ()
    about = re.compile(_AS_WRITTEN.format(re.escape(written)))
    # Nothing may follow it: the name itself must be what is written so.
    return tuple((replace(grammar, connectors=()), asks, about) for grammar, asks in DELETING_NAMED)


# Two kinds in three languages make no more: the same name is mostly asked about again.
@lru_cache(maxsize=32)
def _grammars(asked: Asks, names: tuple[str, ...]) -> Sequence[Grammar]:
    named = {_words(name) for name in names if len(name) <= MAX_NAME_CHARS} - {""}
    # Of no name there is none: an empty choice would be one that always fits.
    name = "|".join(re.escape(each) for each in sorted(named)) or r"(?!)"
    return tuple(
        replace(
            grammar,
            about=about,
            tasks=(),
            modals=_MODALS.get(grammar, grammar.modals),
            asks=tuple(ask.replace("{name}", f"(?:{name})") for ask in asks),
            connectors=_CONNECTORS if grammar is ENGLISH else grammar.connectors,
            definite=_AT_HAND,
            describes=NOTHING,
        )
        for grammar, asks, about in asked
    )


def _words(name: str) -> str:
    return word_line(plain(name))
