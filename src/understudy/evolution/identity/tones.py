"""Words that say how an agent is, not who: a sentence of these alone gives it no name, role or purpose.

What is not among them may be a trade or a task, so one such word is enough: `a friendly tax assistant`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_ADJECTIVES: Final = (
    *("friendly", "warm", "playful", "helpful", "witty", "patient", "kind", "calm", "gentle", "polite", "brief", "concise"),
    *("cheerful", "curious", "thoughtful", "honest", "humble", "modest", "funny", "humorous", "dry", "direct", "frank"),
    *("candid", "clear", "plain", "simple", "formal", "informal", "casual", "relaxed", "serious", "sober", "lively"),
    *("energetic", "enthusiastic", "upbeat", "positive", "optimistic", "encouraging", "supportive", "caring"),
    *("empathetic", "compassionate", "attentive", "respectful", "courteous", "tactful", "precise", "careful", "thorough"),
    *("diligent", "reliable", "steady", "quiet", "soft-spoken", "laid-back", "down-to-earth", "easygoing", "approachable"),
    *("welcoming", "sincere", "good", "great", "nice", "wonderful", "true", "trusty", "wise", "smart", "clever", "bright"),
    *("creative", "imaginative", "poetic", "articulate", "eloquent", "succinct", "terse", "sarcastic", "ironic", "tireless"),
    *("tidy", "neat", "hearty", "merry", "jolly", "blunt", "charming", "elegant", "old-fashioned", "modern", "little"),
    *("short", "neutral", "balanced", "nonjudgmental", "unassuming", "gracious", "generous", "mindful", "sunny"),
)  # fmt: skip
# What every agent is, and what somebody is by nature.
_NOUNS: Final = (
    *("assistant", "helper", "companion", "friend", "listener", "agent", "bot", "chatbot", "ai", "partner", "person"),
    *("speaker", "presence", "voice", "buddy", "sidekick", "teammate", "conversationalist", "communicator"),
    *("optimist", "minimalist", "realist", "perfectionist", "pragmatist", "idealist", "introvert", "extrovert"),
)  # fmt: skip
# A trade by itself; with a word for its manner it is one.
_TRADES: Final = ("teacher", "guide", "coach", "mentor", "tutor", "host", "storyteller")
_BESIDE: Final = (
    *("a", "an", "the", "and", "but", "yet", "very", "really", "quite", "rather", "always", "never", "often", "also", "so"),
    *("who", "that", "with", "of", "in", "as", "i", "you", "we", "your", "my", "is", "are", "am", "be", "it", "not", "too"),
    *("speak", "speaks", "talk", "talks", "listen", "listens", "smile", "smiles", "joke", "jokes", "laugh", "laughs"),
    *("sound", "sounds", "stay", "stays", "keep", "keeps", "use", "uses", "like", "likes", "love", "loves", "care", "cares"),
    *("write", "writes", "say", "says", "ramble", "rambles", "lecture", "lectures", "judge", "judges"),
    *("warmly", "kindly", "simply", "plainly", "briefly", "clearly", "gently", "politely", "calmly", "softly", "patiently"),
    *("tone", "manner", "style", "humour", "humor", "sense", "words", "sentences", "replies", "answers", "jokes", "smile"),
    *("heart", "warmth", "patience", "kindness", "brevity", "few", "touch", "bit", "spirit", "nature", "attitude"),
)  # fmt: skip
_ADJECTIVES_VI: Final = (
    *("thân thiện", "ấm áp", "vui vẻ", "vui tính", "kiên nhẫn", "lịch sự", "ngắn gọn", "tử tế", "tốt bụng", "hài hước"),
    *("dí dỏm", "điềm tĩnh", "nhẹ nhàng", "chân thành", "thẳng thắn", "rõ ràng", "giản dị", "đơn giản", "gần gũi"),
    *("chu đáo", "tận tâm", "nhiệt tình", "hữu ích", "tích cực", "lạc quan", "khiêm tốn", "tôn trọng", "tinh tế", "cởi mở"),
)  # fmt: skip
_NOUNS_VI: Final = (
    "trợ lý",
    "bạn đồng hành",
    "người bạn",
    "người bạn đồng hành",
    "tác nhân",
    "người",
)
_TRADES_VI: Final = ("giáo viên", "người thầy", "người hướng dẫn")
_BESIDE_VI: Final = (
    "một",
    "và",
    "rất",
    "luôn",
    "luôn luôn",
    "nhưng",
    "nói",
    "nói chuyện",
    "tôi",
    "bạn",
    "mình",
    "ai",
)
_ADJECTIVES_ZH: Final = (
    *("友好", "友善", "温暖", "溫暖", "亲切", "親切", "耐心", "幽默", "风趣", "風趣", "礼貌", "禮貌", "简洁", "簡潔", "温和", "溫和"),
    *("热情", "熱情", "乐观", "樂觀", "善良", "真诚", "真誠", "细心", "細心", "体贴", "體貼", "活泼", "活潑", "冷静", "冷靜", "平和"),
    *("谦虚", "謙虛", "坦率", "直率", "贴心", "貼心", "可靠", "有趣", "俏皮", "温柔", "溫柔", "积极", "積極", "乐于助人", "樂於助人"),
)  # fmt: skip
_NOUNS_ZH: Final = ("助手", "助理", "伙伴", "夥伴", "朋友", "智能体", "机器人", "機器人", "人")
_TRADES_ZH: Final = ("老师", "老師", "导师", "導師", "教练", "教練", "向导", "嚮導")
_BESIDE_ZH: Final = (
    *("一个", "一個", "一位", "一名", "个", "個", "位", "名", "的", "又", "而且", "且", "和", "很", "非常", "有", "而", "总是", "也"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Manners:
    """The words of one language, each a pattern that finds any of them."""

    adjectives: re.Pattern[str]
    nouns: re.Pattern[str]
    trades: re.Pattern[str]
    any_of: re.Pattern[str]

    def are_all_of(self, said: str) -> bool:
        is_one = self.nouns.search(said) or (
            self.trades.search(said) and self.adjectives.search(said)
        )
        return bool(is_one) and not any(map(str.isalnum, self.any_of.sub(" ", said)))


def _manners(*groups: Sequence[str], edge: str) -> _Manners:
    def one_of(words: Sequence[str]) -> re.Pattern[str]:
        # The longest first: some begin like others.
        ordered = sorted(words, key=len, reverse=True)
        return re.compile(f"{edge}(?:{'|'.join(map(re.escape, ordered))}){edge}")

    adjectives, nouns, trades, beside = groups
    everything = (*adjectives, *nouns, *trades, *beside)
    return _Manners(one_of(adjectives), one_of(nouns), one_of(trades), one_of(everything))


# No edge of a word between hyphens: `tax-friendly`.
_EDGE: Final = r"(?:(?<![\w-])(?=\w)|(?<=\w)(?![\w-]))"
_LANGUAGES: Final = (
    _manners(_ADJECTIVES, _NOUNS, _TRADES, _BESIDE, edge=_EDGE),
    _manners(_ADJECTIVES_VI, _NOUNS_VI, _TRADES_VI, _BESIDE_VI, edge=_EDGE),
    _manners(_ADJECTIVES_ZH, _NOUNS_ZH, _TRADES_ZH, _BESIDE_ZH, edge=""),
)

# Where a name ends, and what may follow it that is no part of it.
_NAME_ENDS: Final = re.compile(
    r"(?:\s*[,\uff0c]\s*(?:and |và )?|\s+(?:and|và)\s+|\s+[-\u2013]\s+|\s*\u2014\s*)"
)
_TONGUES: Final = "English|Vietnamese|Chinese|French|German|Spanish|Japanese|Korean"
_NAMES_ANOTHER: Final = re.compile(
    rf"\b(?!(?:I|{_TONGUES})\b)[A-Z]|\b(?:aka|alias|known|calls?|called|names?|named|nicknamed|myself|formerly|was|là|gọi|tên)\b|[叫称稱名号號是]"
)
_SPEAKS: Final = re.compile(
    r"(?:(?:i|you|we|my|your|an?|the|tôi|bạn|mình)\b"
    rf"|(?:{'|'.join(map(re.escape, (*_ADJECTIVES, *_ADJECTIVES_VI, 'always', 'never', 'very', 'rất', 'luôn')))})(?![\w-])"
    r"|[我你您]?(?:说话|說話|语气|語氣|语言|語言|用|很|总是|總是|喜欢|喜歡|会|會))",
    re.IGNORECASE,
)


def is_manner(said: str) -> bool:
    """Whether these words say how somebody is, and nothing else."""
    plain = said.casefold()
    return any(language.are_all_of(plain) for language in _LANGUAGES)


def name_in(value: str) -> str:
    """A name without what a sentence goes on with behind it; all of it where that may be another."""
    end = _NAME_ENDS.search(value)
    if end is None:
        return value
    rest = value[end.end() :]
    is_end = _SPEAKS.match(rest) is not None and _NAMES_ANOTHER.search(rest) is None
    return value[: end.start()] if is_end else value
