"""The words of statements: closed classes and common verbs, one spelling of dates, times and numbers."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum, auto
from functools import cache, lru_cache
from typing import Final, NamedTuple

from understudy.core.lazy import lazy_pattern
from understudy.learnings.normal_form import HAN_AND_KANA, exact_words, plain
from understudy.patterns.word_lists import WordLists, read_toml

LISTS: Final = WordLists("understudy.learnings", "clause_words.toml")
# A longer text is no single statement.
MAX_WORDS: Final = 60
MAX_PHRASE: Final = 4
# The verb of an equation, such as `The port is 80`.
BE: Final = "be"
USE: Final = "use"


class WordClass(StrEnum):
    """The class of a word in a statement."""

    CONTENT = auto()
    DROPPED = auto()
    SPEAKERS = auto()
    DENIALS = auto()
    AFTER_DENIAL = auto()
    ADDITIONS = auto()
    PURPOSES = auto()
    PLACES = auto()
    OF_OBJECT = auto()
    OF_AGENT = auto()
    OF_MANY = auto()
    OF_PLACE = auto()
    CHANGES = auto()


VERBS: Final = frozenset(
    {
        WordClass.OF_OBJECT,
        WordClass.OF_AGENT,
        WordClass.OF_MANY,
        WordClass.OF_PLACE,
        WordClass.CHANGES,
    }
)
# In order of precedence, where a phrase is in two classes.
_FLAT: Final = (
    WordClass.DENIALS, WordClass.AFTER_DENIAL, WordClass.ADDITIONS, WordClass.SPEAKERS, WordClass.PURPOSES, WordClass.DROPPED,
)  # fmt: skip


class TaggedWord(NamedTuple):
    """A word or phrase with its class and, for verbs and prepositions, what it stands for."""

    text: str
    role: WordClass = WordClass.CONTENT
    form: str = ""


def tagged(line: str) -> list[TaggedWord]:
    """The words of a spelled line with their classes, the longest phrases first."""
    lexicon = _lexicon(is_vietnamese=is_vietnamese(line))
    found, words = [], [_NUMBERS.get(it, it) for it in exact_words(line)]
    at = 0
    while at < len(words):
        longest = lexicon.longest(words[at])
        for size in range(min(longest, len(words) - at), 0, -1):
            word = lexicon.find(words[at : at + size])
            if word:
                break
        else:
            size, word = 1, TaggedWord(words[at])
        found.append(word)
        at += size
    return _measured(_with_have(_after_determiners(_after_nouns(found))))


def _after_nouns(words: list[TaggedWord]) -> list[TaggedWord]:
    """The words with a group that another noun names as no speaker: `the design team`."""
    return [
        TaggedWord(word.text)
        if before and before.role is WordClass.CONTENT and word.text in _GROUPS
        else word
        for before, word in zip((None, *words), words, strict=False)
    ]


def _after_determiners(words: list[TaggedWord]) -> list[TaggedWord]:
    """The words with a noun where a verb cannot stand, as in `the train`."""
    return [
        TaggedWord(word.text)
        if before and word.role in VERBS and before.text in _DETERMINERS
        else word
        for before, word in zip((None, *words), words, strict=False)
    ]


def _with_have(words: list[TaggedWord]) -> list[TaggedWord]:
    """The words with `have` as a verb, unless it makes a tense of the next word."""
    return [
        TaggedWord(word.text, WordClass.OF_MANY, "support")
        if word.text in _HAVE and after and after.role in _NOUNS and not _PAST.fullmatch(after.text)
        else word
        for word, after in zip(words, (*words[1:], None), strict=False)
    ]


_DETERMINERS: Final = frozenset(
    [
        "the",
        "a",
        "an",
        "my",
        "our",
        "your",
        "their",
        "his",
        "her",
        "its",
        "these",
        "those",
        "every",
        "each",
        "no",
        "any",
    ]
)
_GROUPS: Final = frozenset({"team", "company"})
_HAVE: Final = frozenset({"have", "has", "had"})
_PAST: Final = lazy_pattern(r"\w+(?:ed|en|own|ought|one)|to|been")
_NOUNS: Final = frozenset({WordClass.CONTENT, WordClass.DROPPED})


@lru_cache(maxsize=4096)
def lemmas(word: str) -> tuple[str, ...]:
    """The verbs that an inflected form may belong to."""
    irregular = LISTS.pairs("irregular.verbs").get(word)
    found = [irregular] if irregular else []
    for ending in ("ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            found += (stem, f"{stem}e", f"{stem[:-1]}y")
            if stem[-1] == stem[-2]:
                found.append(stem[:-1])
    return tuple(found)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """One form for the inflected forms of a verb that is in no list."""
    for ending in ("ing", "ied", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            word = word.removesuffix(ending)
            break
    word = word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    return word.rstrip("ey") if len(word) > 3 else word


def _measured(words: Iterable[TaggedWord]) -> list[TaggedWord]:
    """The words with each number joined to its unit."""
    units, found = LISTS.pairs("numbers.units"), list[TaggedWord]()
    for word in words:
        unit = units.get(word.text) or (word.text if word.text in units.values() else None)
        if unit and found and _NUMBER.fullmatch(found[-1].text):
            found[-1] = TaggedWord(found[-1].text + unit)
        else:
            found.append(word)
    return found


def known_verb(text: str) -> TaggedWord | None:
    """A verb of the lists by its base form."""
    word = _lexicon(is_vietnamese=is_vietnamese(text)).phrases.get(text)
    return word if word and word.role in VERBS else None


_TIME: Final = lazy_pattern(
    r"\d{1,2}:\d\d|\d{1,2}h|\d{1,2}(?:st|nd|rd|th)|month\d|weekday\d|\d{1,2}-\d{1,2}|(?:周|星期|礼拜)[一二三四五六日天末\d].*|.*(?:[月日号早晚天点]|[早晚]上|[上中下]午)"
)
_HOUR: Final = lazy_pattern(r"\d{1,2}(?::\d\d|h)?|\d{1,2}:\d\d-\d{1,2}:\d\d|[早晚]上|[上中下]午")


def is_time(words: Iterable[str]) -> bool:
    """Whether a phrase names a time, such as a weekday or an hour."""
    return any(it in LISTS.set("times") or _TIME.fullmatch(it) for it in words)


def is_hour(words: Iterable[str]) -> bool:
    """Whether a time is one of the day, which says nothing about the day."""
    return all(it in LISTS.set("hours") or _HOUR.fullmatch(it) for it in words)


class Lexicon:
    """The phrases of the closed classes and the known verbs of a language."""

    def __init__(self, phrases: dict[str, TaggedWord]) -> None:
        self.phrases = phrases
        self._longest: dict[str, int] = {}
        for phrase in phrases:
            first, size = phrase.split(" ")[0], phrase.count(" ") + 1
            self._longest[first] = max(size, self._longest.get(first, 1))

    def longest(self, first: str) -> int:
        """The number of words of the longest phrase that begins with a word or its lemma."""
        return max(self._longest.get(it, 1) for it in (first, *lemmas(first)))

    def find(self, words: Sequence[str]) -> TaggedWord | None:
        """The phrase that the words are, its first word perhaps inflected."""
        text = " ".join(words)
        known = self.phrases.get(text)
        if known:
            return known
        for lemma in lemmas(words[0]):
            known = self.phrases.get(" ".join((lemma, *words[1:])))
            if known and known.role in VERBS:
                return known._replace(text=text)
        return None


@cache
def _lexicon(*, is_vietnamese: bool) -> Lexicon:
    tables = read_toml(*LISTS)
    phrases: dict[str, TaggedWord] = {}
    for role in (*_FLAT, WordClass.PLACES, *sorted(VERBS)):
        forms = {"": tables[role]} if role in _FLAT else tables[role]
        for form, listed in forms.items():
            for phrase in listed:
                text = phrase.removeprefix(_VIETNAMESE_MARK)
                if not phrase.isascii() or (text != phrase) == is_vietnamese:
                    # A verb without a class of meaning stands for itself.
                    phrases.setdefault(text, TaggedWord(text, role, text if form == "do" else form))
    return Lexicon(phrases)


@cache
def _han_words() -> re.Pattern[str]:
    """Chinese words of the lexicon, and words that contain one, the longest first."""
    han = {
        text: word
        for text, word in _lexicon(is_vietnamese=False).phrases.items()
        if _HAN.match(text)
    }
    # A verb of two characters is one only where a verb stands; elsewhere it is part of a noun.
    open_verbs = {
        it
        for it, word in han.items()
        if word.role is WordClass.OF_PLACE and len(it) > 1 and it[-1] != "于"
    }
    opposites = {word for it in LISTS("opposites.contradictory") for word in it.split(":")}
    known = {*(set(han) - open_verbs), *filter(_HAN.match, opposites), *LISTS("compounds")}
    verbs = "|".join(sorted(open_verbs, key=len, reverse=True))
    # A noun for a group is the speaker only where no other noun stands before it.
    groups = {
        it
        for it in known
        if it in han and han[it].role is WordClass.SPEAKERS and it[0] not in "我咱你您"
    }
    nouns = "|".join(sorted(groups))
    rest = "|".join(sorted(known - groups, key=len, reverse=True))
    return lazy_pattern(
        rf"(?:{verbs})(?=[在到于至用不 \da-z]|\Z)|(?<=[们我队司不])(?:{verbs})"
        rf"|(?<![{HAN_AND_KANA}])(?:{nouns})|(?<=[们的请不])(?:{nouns})|{rest}"
    )


_VIETNAMESE: Final = lazy_pattern(
    r"[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉĩịọỏốồổỗộớờởỡợụủũứừửữựỳỵỷỹ]|\b(?:là|có|và|của)\b"
)
_ACCENTED: Final = lazy_pattern(r"\b\w*[àáâãèéêìíòóôõùúý]\w*")
# Marks a Vietnamese phrase of ASCII letters in the lists.
_VIETNAMESE_MARK: Final = "vi:"
_HAN: Final = lazy_pattern(rf"[{HAN_AND_KANA}]")
_NUMBER: Final = lazy_pattern(r"[-+$€£¥]?\d[\d.,:/-]*[%°]?|[$€£¥]\d[\d.]*")
NUMERIC: Final = lazy_pattern(r"[-+$€£¥]?\d[\d.,:/×-]*[^\W\d]{0,5}[%°$€]?")
_NUMBERS: Final = LISTS.pairs("numbers.values")
_MONTHS: Final = "|".join(LISTS.pairs("numbers.months"))
_WEEKDAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SINCE: Final = (
    rf"(?:(?:next |this |last |the (?:start|beginning|end) of )?(?:{_MONTHS}|{_WEEKDAY}|week|month|year|quarter|today|tomorrow|now|then|q[1-4]"
    r"|\d{1,4}(?:[-/.]\d{1,2}){0,2})(?: \d{1,4}){0,2})(?: on(?:wards?)?\b)?,? ?"
)
# Phrases that only say that a statement was made or agreed on.
_REPORT: Final = (
    r"\A(?:(?:it (?:was|is|has been)|we(?: have|['’]ve)?|i(?: have|['’]ve)?) (?:agreed|decided|settled)(?: that| to| on(?= using\b))"
    r"|(?:please )?(?:(?:note|remember|keep in mind|be aware) that|note:)|fyi[:,]?|as agreed,?|for the record[:,]?"
    r"|(?:chúng tôi|nhóm|cả nhóm|tôi)? ?(?:đã )?(?:thống nhất|quyết định)(?: là| rằng)?|(?:xin )?lưu ý(?: là| rằng)?[:,]?"
    r"|(?:我们|大家)?(?:已经?)?(?:决定|商定|约定)了?,?|(?:请)?(?:注意|记住)[:,]?)(?= |[\u3400-\u9fff])"
)
# A day of the week in Chinese.
HAN_DAY: Final = lazy_pattern(r"每?周[一二三四五六日]")
_HAN_DIGITS: Final = "零一二三四五六七八九"


def _han_number(match: re.Match[str]) -> str:
    tens, ten, ones = match[0].replace("两", "二").rpartition("十")
    if not ten:
        return "".join(str(_HAN_DIGITS.index(it)) for it in ones)
    high = _HAN_DIGITS.index(tens[-1]) if tens else 1
    return str(high * 10 + (_HAN_DIGITS.index(ones[0]) if ones else 0))


def _date(match: re.Match[str]) -> str:
    day, month = match["day"], match["month"]
    return f" {int(LISTS.pairs('numbers.months').get(month, month))}-{int(day)} "


def _clock(match: re.Match[str]) -> str:
    hour, minute, half = int(match["hour"]), match["minute"] or "0", match["half"] or ""
    minute = "30" if minute in {"半", "rưỡi"} else minute
    if half[:1] == "p" or half in {"chiều", "tối", "下午", "晚上"}:
        hour = hour % 12 + 12
    return f" {hour}:{int(minute):02d} "


def _weekday(match: re.Match[str]) -> str:
    return f"weekday{_VIETNAMESE_DAYS.index(match[1]) + 2 if match[1] else 1}"


_VIETNAMESE_DAYS: Final = ("hai", "ba", "tư", "năm", "sáu", "bảy")
# Words behind `call me` that are no name.
_NO_NAME: Final = (
    r"(?!(?:back|again|up|out|off|over|in|on|at|by|to|for|from|with|about|and|or|as|if|when|before|after|until|every|each|once|twice"
    r"|yesterday|today|tomorrow|tonight|later|now|soon|sooner|anytime|any|asap|first|maybe|only|what|crazy|lazy|old|stupid|this|that|next|last"
    rf"|{_WEEKDAY}s?|\w+ly)\b)"
)
_SURNAMES: Final = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎"
_HAN_NAME: Final = (
    rf"[a-z]\w*(?: \w+)?|[小老阿大]\w{{1,2}}|[{_SURNAMES}]\w{{1,2}}|(?P<syllable>[\u3400-\u9fff])(?P=syllable)"
    r"|\w{1,2}(?:[哥姐总工叔姨]|老师|先生|女士|同学|医生|教授)"
)
_ANY_HAN_NAME: Final = r"[^\Wa-z了他她它你您人车卖递来去吃醒停喊过着不的]{2,4}"
# Spellings of one thing, in this order.
_SPELLINGS: Final = (
    (lazy_pattern(r"\b(?:the |our )?(?:team|company|user)['’]s\b"), lambda _: "our"),
    (lazy_pattern(_REPORT), lambda _: ""),
    (lazy_pattern(r"\b(?:stop(?:s|ped)?|quit|gave up|ceased) using\b"), lambda _: "not use"),
    (lazy_pattern(r"\b(?:stop(?:s|ped)?|quit|gave up|ceased) (?=\w+ing\b)"), lambda _: "not "),
    (lazy_pattern(rf"\b(?:on )?(?:every|each) (?={_WEEKDAY})"), lambda _: "on "),
    (lazy_pattern(r"每(?=(?:周|星期|礼拜)[一二三四五六日天])"), lambda _: ""),
    (lazy_pattern(r"\b(?:(?:vào )?(?:mỗi|hằng|hàng)|vào các ngày) (?=thứ (?:hai|ba|tư|năm|sáu|bảy)\b|chủ nhật\b)"), lambda _: "vào "),
    (lazy_pattern(r"(?<=\bthứ (?:ba|tư)) h[àằ]ng tuần\b|(?<=\bthứ (?:hai|năm|sáu|bảy)) h[àằ]ng tuần\b|(?<=\bchủ nhật) h[àằ]ng tuần\b"), lambda _: ""),
    (lazy_pattern(r"\bthứ (hai|ba|tư|năm|sáu|bảy)\b|\bchủ nhật\b"), _weekday),
    (lazy_pattern(r"\b(ca|wo)n['’]t\b"), lambda it: "cannot" if it[1] == "ca" else "will not"),
    (lazy_pattern(r"n['’]t\b"), lambda _: " not"),
    (lazy_pattern(r"(?<=\b(?:it|he))['’]s\b|(?<=\b(?:that|what))['’]s\b"), lambda _: " is"),
    (lazy_pattern(r"['’](?:s|ll|ve|d)\b|(?<=s)['’](?= )"), lambda _: ""),
    (lazy_pattern(r"['’](?:re|m)\b"), lambda _: " are"),
    (lazy_pattern(r"(?<=\d),(?=\d{3}(?!\d))"), lambda _: ""),
    # An article before somebody or something.
    (lazy_pattern(r"\A(?:(?:(?:我们?|咱们)(?:的|有)?)?一|有一?)[个位名](?=[^\W\d月小星人])"), lambda _: ""),
    (lazy_pattern(r"\A(?:có )?một (?=(?:người|khách|đồng|bạn|anh|chị|cô|em|học|nhân|nhà|máy|dự|sprint)\b)"), lambda _: ""),
    (lazy_pattern(r"[零一二两三四五六七八九十]{1,4}(?=[个名位次天周年月日号点分秒小人条台份节件种块级页遍轮])|(?<=点)[一二三四五六七八九十]{1,3}(?![一二三四五六七八九十])"), _han_number),
    (lazy_pattern(rf"\b(?:as of|effective|starting|beginning) {_SINCE}"), lambda _: ""),
    (lazy_pattern(rf"\A(?:from|since) {_SINCE}"), lambda _: ""),
    (lazy_pattern(r"\A(?:(?:kể|bắt đầu) )?từ (?:tháng|tuần|năm|quý|ngày|hôm|thứ|mai|đầu)(?: \d+| tới| sau| này| nay| hai| ba| tư| năm| tháng| tuần){0,3},? ?"), lambda _: ""),
    (lazy_pattern(r"[从自][^,。\s]{1,8}?(?:起|开始),?"), lambda _: ""),
    (lazy_pattern(r"(?<=\b(?:in|of|by) )may\b|(?<=\b(?:this|next|last) )may\b|(?<=\b(?:since|until) )may\b"), lambda _: "month5"),
    (lazy_pattern(rf"\b(?P<month>{_MONTHS})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"), _date),
    (lazy_pattern(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTHS})\b"), _date),
    (lazy_pattern(r"(?P<month>\d{1,2}) ?月 ?(?P<day>\d{1,2}) ?[日号]"), _date),
    (lazy_pattern(r"\b(?:ngày )?(?P<day>\d{1,2}) tháng (?P<month>\d{1,2})\b"), _date),
    (lazy_pattern(r"\b(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>am|pm|a\.m\.?|p\.m\.?)(?!\w)"), _clock),
    (lazy_pattern(r"\b(?P<hour>\d{1,2})(?: giờ |h| giờ)(?P<minute>\d\d|rưỡi)(?P<half> )?\b"), _clock),
    (lazy_pattern(r"\b(?P<hour>\d{1,2}) ?giờ (?P<minute>\d\d)?(?P<half>sáng|chiều|tối)\b"), _clock),
    (lazy_pattern(r"(?P<half>早上|上午|下午|晚上)?(?P<hour>\d{1,2})点(?P<minute>半|\d\d)?分?"), _clock),
    (lazy_pattern(r"\b0(?=\d:\d\d\b)"), lambda _: ""),
    (lazy_pattern(r"(?:\b(?:from|từ) |从)?(\d{1,2}:\d\d) ?(?:to|until|till|đến|[–—-]|到|至) ?(\d{1,2}:\d\d)"), lambda it: f"{it[1]}-{it[2]}"),
    (lazy_pattern(r"(?<=\b(?:are) )from (\d{1,2}) (?:to|until) (\d{1,2})\b|\b(\d{1,2}) ?[–—] ?(\d{1,2})\b"), lambda it: f"{it[1] or it[3]}-{it[2] or it[4]}"),
    (lazy_pattern(r"(?:周|星期|礼拜)([一二三四五六日天])(?![个次会年])"), lambda it: f" 周{it[1].replace('天', '日')} "),
    # A place in Chinese has a particle behind its name.
    (lazy_pattern(r"(?<=[a-z\d]) ?[上里中内](?![海午面部文])"), lambda _: " "),
    (lazy_pattern(r"\b(?:is|are|am) using\b"), lambda _: "use"),
    # Tense of `be`.
    (lazy_pattern(r"\b(?:(?:will|shall|should|must|would) (?:now )?be|(?:is|are) going to be|ha(?:s|ve|d) been|was|were)\b"), lambda _: "is"),
    (lazy_pattern(r"\b(?:sẽ|đã|đang|vẫn|hiện|vốn|hiện tại|bây giờ) là\b"), lambda _: "là"),
    (lazy_pattern(r"(?<![作成以称认因变改转调定设名华行人视分列划])为(?![了什何止])"), lambda _: "是"),
    (lazy_pattern("名称"), lambda _: "名字"),
    (lazy_pattern(r"是(?:必须|必需|必要)的"), lambda _: "是强制的"),
    (lazy_pattern(r"(?:将|会|将会|现在|目前|仍|应该|必须)是"), lambda _: "是"),
    (lazy_pattern(r"\b(is|are) (?:switched |turned )?(on|off)\Z"), lambda it: f"{it[1]} {'enabled' if it[2] == 'on' else 'disabled'}"),
)  # fmt: skip


@cache
def _action_spellings() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Sentences about an action by its noun, with the verb: `Deployments are on Fridays`."""
    nouns = sorted(LISTS.pairs("actions"), key=len, reverse=True)
    english = "|".join(it for it in nouns if it.isascii())
    accented = "|".join(it for it in nouns if is_vietnamese(it))
    han = "|".join(it for it in nouns if _HAN.match(it))
    when = rf"(?:on|at|in|every|before|after) (?:the )?(?:\d|{_MONTHS}|{_WEEKDAY}|noon|midnight|night|morning|evening|weekend)"
    how = "(?:on|at|in|with|via|using|through|from|every|before|after|daily|weekly|monthly|hourly|quarterly|nightly) "
    return (
        (
            lazy_pattern(
                rf"\A(?:(?:all|our) )*(?:(?P<first>(?!the|this|that|an?\b)\w+) )??(?P<noun>{english})s?(?: of (?:the |our )?(?P<second>\w+))? "
                rf"(?:is (?={when})|are (?={when})|(?:is|are) (?=(?:with|via) )|runs? (?={when})"
                rf"|(?:happens?|occurs?|takes? place|(?:is|are) (?:done|made|performed|carried out|scheduled)) (?={how}))"
            ),
            "we {verb} ",
        ),
        (lazy_pattern(rf"\A(?:chúng tôi |nhóm )?(?:việc|lịch|quá trình|công việc) (?P<noun>{accented}) (?:diễn ra|chạy|được (?:thực hiện|tiến hành|làm)|là)? ?(?=(?:vào|lúc|bằng|với|ở|trên|weekday) ?)"), "chúng tôi {verb} "),
        (lazy_pattern(rf"\A(?P<noun>{han})(?:工作|任务)?(?:是?在|于|是)(?P<when> ?(?:周|\d|每|凌晨|早上|上午|下午|晚上|月).*?)(?:进行|举行|执行|运行)?\Z"), "我们在{when}{verb}"),
    )  # fmt: skip


@lru_cache(maxsize=4096)
def action_of(word: str) -> str | None:
    """The class of the verb that a noun stands for, or a verb of such a class itself."""
    verb = LISTS.pairs("actions").get(word) or LISTS.pairs("actions").get(word.removesuffix("s"))
    if verb:
        known = known_verb(verb)
        return known.form if known else stem(verb)
    return word if word in _action_classes() else None


@cache
def _action_classes() -> frozenset[str]:
    verbs = LISTS.pairs("actions").values()
    return frozenset(known.form if (known := known_verb(it)) else stem(it) for it in verbs)


def _as_action(line: str) -> str:
    """The line with the verb of an action in place of its noun."""
    for pattern, meant in _action_spellings():
        found = pattern.match(line)
        if found:
            verb, parts = LISTS.pairs("actions")[found["noun"]], found.groupdict()
            named = [it for it in (parts.get("first"), parts.get("second")) if it]
            said = meant.format(verb=" ".join((verb, *named)), when=parts.get("when"))
            return said + line[found.end() :]
    return line


# Wordings of one thing, once times and actions are spelled.
_WORDINGS: Final = (
    (lazy_pattern(rf"\A(?:we|i) hold (?:the |our )?((?:\w+ ){{1,3}})(?=(?:on|at) (?:\d|{_WEEKDAY}))"), lambda it: f"{it[1]}is "),
    # An event is where and when it takes place.
    (lazy_pattern(r"(?<=\w )(?:takes? place|took place|happen(?:s|ed)?|occur(?:s|red)?|(?:is|are) held|is scheduled) (?=(?:on|at|in) )"), lambda _: "is "),
    (lazy_pattern(r"\b(?:is|are) scheduled for "), lambda _: "is on "),
    # Where the speaker lives, and by which name.
    (lazy_pattern(r"\A我们?家(?:住)?(?=在)"), lambda _: "我住"),
    (lazy_pattern(r"\Anhà (?:tôi|mình|em|chúng tôi) (?=ở|tại)"), lambda _: "tôi sống "),
    (lazy_pattern(rf"\A(?:(?:please|just|everyone|everybody|people|they|hey|(?:my )?friends|you (?:can|may|should|could)),? )*calls? me {_NO_NAME}(?=[^\W\d]\S*(?: \S+)?\Z)"), lambda _: "my nickname is "),
    (lazy_pattern(rf"\Ai (?:am|are|is) (?:called|named) {_NO_NAME}(?=[^\W\d]\S*(?: \S+)?\Z)"), lambda _: "my name is "),
    (lazy_pattern(r"\A(?:(?:hãy|cứ|xin|vui lòng|làm ơn|bạn|có thể|mọi người|thường|hay) )*gọi (?:tôi|mình|em|tớ) (?:là|bằng tên) "), lambda _: "biệt danh của tôi là "),
    (lazy_pattern(r"\A(?:tôi|mình|em|tớ) (?:có )?tên(?: gọi)?(?: là)? (?=\w)"), lambda _: "tên tôi là "),
    (lazy_pattern(rf"\A(?:请|你|您|可以|大家|都|就)*叫我 ?(?P<name>{_HAN_NAME})(?:吧|就行|就好|就可以)?\Z"), lambda it: f"我的昵称是{it['name']}"),
    (lazy_pattern(rf"\A我名?叫[做作]? ?(?P<name>{_HAN_NAME}|{_ANY_HAN_NAME})\Z"), lambda it: f"我的名字是{it['name']}"),
    # What is preferred to another.
    (lazy_pattern(r"\b(prefers?|like|likes) ((?:\S+ ){1,3})(?:over|more than) (?=\S)"), lambda it: f"{it[1]} {it[2]}rather than "),
    (lazy_pattern(r"\b(prefers?) ((?!to )(?:\S+ ){1,2})to (?=\S+(?: \S+)?\Z)"), lambda it: f"{it[1]} {it[2]}rather than "),
    (lazy_pattern(r"\b(thích|chuộng) ((?:\S+ ){1,3})hơn (?!là )(?=\S)"), lambda it: f"{it[1]} {it[2]}thay vì "),
)  # fmt: skip


def spelled(content: str) -> str:
    """The plain text with one spelling of dates, times, numbers and tenses, and Chinese words apart."""
    line = plain(content)
    for pattern, meant in _SPELLINGS:
        line = pattern.sub(meant, line)
    line = _as_action(" ".join(line.split()))
    for pattern, meant in _WORDINGS:
        line = pattern.sub(meant, line)
    return line


@lru_cache(maxsize=1024)
def is_vietnamese(text: str) -> bool:
    """Whether a text is Vietnamese: letters of that language alone, or accents on several words."""
    return bool(_VIETNAMESE.search(text)) or len(_ACCENTED.findall(text)) > 1


def has_han(text: str) -> bool:
    """Whether a text has Chinese characters."""
    return bool(_HAN.search(text))


def apart(line: str) -> str:
    """A spelled line with blanks between the known Chinese words."""
    return _han_words().sub(lambda it: f" {it[0]} ", line) if _HAN.search(line) else line
