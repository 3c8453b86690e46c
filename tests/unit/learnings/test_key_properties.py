"""Keys do not depend on how a statement is set: blanks, case, width, punctuation."""

import re
import unicodedata

from hypothesis import assume, given
from hypothesis import strategies as st

from understudy.learnings.keys import key_of, obvious_relation
from understudy.learnings.model import Relation

WORDS = st.sampled_from(
    [
        "project", "codename", "atlas", "deploys", "10:30", "16:9", "c++", "-5", "50%", "éditeur", "mã", "项目", "代号",
        "https://example.com", "1.2", "2024-01-02", "my-host.example:80", "/srv/data", "a@b.example", "a::b", "x==y", "foo(a=1)", "(aside)", "is", "are", "est", "sont", "là", "是", "=", ":",
        "the", "le", "not", "isn't",
    ]
)  # fmt: skip
SENTENCES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
# What has one small letter for each capital one; Turkish and German have more.
PLAIN_WORDS = st.text("abcdefgh éãđậ 项目1 .,:=-()", max_size=60)
NAMES = st.lists(
    st.sampled_from(["project", "codename", "branch", "项目", "dự án"]), min_size=1, max_size=3
)
VALUES = st.lists(
    st.sampled_from(["atlas", "42", "c++", "阿特拉斯", "xanh"]), min_size=1, max_size=4
)
# Words of closed classes in any order, which is the grammar of no language.
CLAUSES = st.lists(
    st.sampled_from(
        [
            "we",
            "the",
            "our",
            "is",
            "are",
            "是",
            "là",
            "not",
            "不",
            "không",
            "no",
            "longer",
            "for",
            "of",
            "in",
            "to",
            "from",
            "by",
            "with",
            "when",
            "use",
            "prefer",
            "run",
            "moved",
            "to",
            "need",
            "own",
            "live",
            "用",
            "在",
            "从",
            "到",
            "的",
            "我们",
            "dùng",
            "ở",
            "từ",
            "sang",
            "của",
            "tool",
            "12",
            "5:30",
            "3",
            "days",
            "deadline",
            "name",
            "tên",
            "名字",
            "home",
            "open",
            "closed",
            "may",
            "also",
            "=",
            ":",
        ]
    ),
    min_size=1,
    max_size=9,
).map(" ".join)
BLANKS = st.sampled_from((" ", "  ", "\n", "\t ", "\u00a0", "\u3000"))


@given(SENTENCES, st.data())
def test_blanks_do_not_matter(sentence: str, data: st.DataObject) -> None:
    spaced = re.sub(" ", lambda _: data.draw(BLANKS), sentence)

    assert key_of(f" {spaced}\n") == key_of(sentence)


@given(PLAIN_WORDS)
def test_case_does_not_matter(text: str) -> None:
    assert key_of(text.upper()) == key_of(text) == key_of(text.title())


@given(PLAIN_WORDS)
def test_how_an_accent_is_put_on_does_not_matter(text: str) -> None:
    assert key_of(unicodedata.normalize("NFD", text)) == key_of(unicodedata.normalize("NFC", text))


@given(SENTENCES, st.text(".;,!?…。", max_size=5))
def test_punctuation_behind_words_changes_nothing(sentence: str, marks: str) -> None:
    assume(any(character.isalnum() for character in sentence))

    assert key_of(sentence + marks) == key_of(sentence)


@given(NAMES, VALUES, st.sampled_from((" is ", " are ", ": ", " = ", "=", " là ", "：")))
def test_whatever_ties_a_name_to_a_value_makes_one_key(
    names: list[str], values: list[str], tie: str
) -> None:
    name, value = " ".join(names), " ".join(values)
    key = key_of(name + tie + value)

    assert key == key_of(f"The {name} is {value}.")
    assert key.subject is not None
    assert key_of(key.semantic) == key


@given(st.text(max_size=300))
def test_every_text_that_says_something_has_a_key(text: str) -> None:
    key = key_of(text)

    assert bool(key.semantic) == bool(text.strip())
    assert key.subject is None or key.subject.strip()


@given(st.lists(st.sampled_from(["1", "22", "b", "host"]), min_size=2, max_size=5), st.data())
def test_what_joins_the_parts_of_a_value_matters(parts: list[str], data: st.DataObject) -> None:
    joints = st.lists(st.sampled_from("./:@ "), min_size=len(parts) - 1, max_size=len(parts) - 1)
    one, other = ("".join(_joined(parts, data.draw(joints))) for _ in range(2))

    assert (key_of(f"Address is {one}") == key_of(f"Address is {other}")) is (one == other)


def _joined(parts: list[str], joints: list[str]) -> list[str]:
    return [piece for pair in zip(parts, [*joints, ""], strict=True) for piece in pair]


@given(CLAUSES, CLAUSES)
def test_any_order_of_words_has_a_key_and_relates_both_ways_alike(one: str, other: str) -> None:
    assert key_of(one).semantic
    assert obvious_relation(one, one) is Relation.SAME
    assert obvious_relation(one, other) is obvious_relation(other, one)
