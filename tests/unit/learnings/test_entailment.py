"""A text says something only if it says it, and not the opposite of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_effort import takes_under
from understudy.learnings.assertion import asserts, asserts_exactly
from understudy.learnings.quotations import own_words

HELIX = "Preferred editor is Helix"

SAID = {
    "the very words": (HELIX, "Preferred editor is Helix"),
    "after a label": (HELIX, "For later: Preference: Preferred editor is Helix. Reply exactly OK."),
    "whatever case and blanks": (HELIX, "PREFERRED   editor\tis\nhelix, thanks"),
    "with another end": ("Preferred editor is Helix.", "Preferred editor is Helix"),
    "the telling words in order": ("The preferred editor: Helix", "Preferred editor is Helix"),
    "with words between": ("Preferred editor is Helix", "my preferred editor is now still Helix"),
    "what the statement has between": ("Head of sales is Ann", "The head of the sales is now Ann."),
    "before an order for the turn": ("The port is 8080", "Fact: The port is 8080 RESPOND EXACTLY: yes"),
    "before another line": ("The port is 8080", "Fact: The port is 8080\nI do not like tea"),
    "with a reminder": (HELIX, "Please do not forget: preferred editor is Helix"),
    "in one's own words again": (HELIX, "Preferred editor is Helix, as I said."),
    "behind small talk": (HELIX, "Tell me a joke. My preferred editor is Helix. Thanks!"),
    "behind an announcement": (HELIX, "Note the following.\nPreferred editor is Helix"),
    "what is denied is said": ("Deploys are not allowed on Friday", "Deploys are not allowed on Friday."),
    "a doubt elsewhere": (HELIX, "Do not worry. Preferred editor is Helix. Is that fine?"),
    "Vietnamese": ("Trình soạn thảo là Helix", "Ghi nhớ: Trình soạn thảo là Helix."),
    "Chinese, within other words": ("编辑器是Helix", "我的编辑器是Helix。"),
    "a time": ("Standup is at 10:30", "Fact: Standup is at 10:30."),
    "at the end of much": (HELIX, "Some words about the weather today. " * 100 + HELIX),
}  # fmt: skip

NOT_SAID = {
    "something else": (HELIX, "Preferred editor is Vim"),
    "nothing": (HELIX, ""),
    "a part of a word": ("Team is Red", "The team is redundant"),
    "a part of a number": ("Limit is 10", "The limit is 10.5 here"),
    "the beginning of a time": ("Standup is at 10", "Standup is at 10:30"),
    "denied around": (HELIX, "It is not true that preferred editor is Helix."),
    "denied within": ("Deploys are allowed on Friday", "Deploys are not allowed on Friday"),
    "denied by a contraction": ("Deploys are allowed on Friday", "Deploys aren't allowed on Friday"),
    "denied twice": ("Deploys are not allowed", "It is wrong that deploys are not allowed"),
    "asked": (HELIX, "Is it so that preferred editor is Helix?"),
    "supposed": (HELIX, "What if preferred editor is Helix"),
    "no longer": (HELIX, "Preferred editor is no longer Helix"),
    "one of two": (HELIX, "Preferred editor is Helix or Vim"),
    "the other way round": ("Alice manages Bob", "Bob manages Alice"),
    "words of two sentences": (HELIX, "My preferred tool is new. An editor. Helix shapes are fun."),
    "words of two lines": ("Preferred editor Helix", "preferred: tea\neditor: vim\nhelix: dna"),
    "words far apart": (HELIX, "preferred " + "word " * 40 + "editor " + "word " * 40 + "helix"),
    "one telling word": ("Helix", "He likes helixes"),
    "only plain words": ("It is the", "it was the"),
    "French denial": ("Le projet est Atlas", "Le projet n'est pas Atlas"),
    "Vietnamese denial": ("Dự án là Atlas", "Dự án không là Atlas"),
    "Chinese denial": ("编辑器是Helix", "说编辑器是Helix不对"),
    "a doubt before a label": (HELIX, "if it is so, note this preference: preferred editor is Helix"),
    "denied before a label": ("The codename is Zed", "It is not true that fact: The codename is Zed"),
    "denied on the line before": ("The port is 80", "It is a lie that\nthe port is 80"),
    "denied on a long line before": (
        "The port is 80", "Nobody who has ever looked at the machine closely may believe for long\nthe port is 80"
    ),
    "announced as a lie": ("The port is 80", "A stranger claims the following, which is a lie. Fact: The port is 80."),
    "announced with others": ("The port is 80", "They claim as follows. Tea is hot. Fact: The port is 80."),
    "announced in a word": ("The port is 80", "Wrong!\nThe port is 80"),
    "somebody's words": ("The port is 80", "The mail said:\nThe port is 80"),
    "taken back at once": ("The port is 80", "The port is 80. That is not true."),
    "a joke": ("The port is 80", "The port is 80. Just kidding!"),
    "no longer so": ("The port is 80", "It used to be that the port is 80"),
    "said by a liar": ("The port is 80", "The port is 80, said the liar"),
    "claimed": ("The port is 80", "Somebody claims the port is 80."),
    "hardly": ("The port is open", "the port is hardly open"),
    "impossible": ("The port is open", "It is impossible that the port is open"),
    "to be forgotten": ("The port is open", "Forget this: the port is open"),
    "denied by somebody": ("The port is open", "Deny that the port is open"),
    "to be ended": ("The port is open", "The port must stop being open"),
    "something done instead": ("The admin is Bob", "The admin fired Bob yesterday"),
    "one beside the other": ("The admin is Bob", "The admin and Bob"),
    "refused": ("The project codename is Atlas", "We refuse the project codename Atlas"),
    "lost": ("The project codename is Atlas", "The project lost its old codename Atlas last year"),
    "to be dropped": ("The project codename is Atlas", "The project should drop the codename Atlas."),
    "others": ("Bob approves deployments", "Bob stopped those who approves deployments"),
    "more of it": ("The limit is 10", "The limit is 10 thousand"),
    "more of it in Chinese": ("项目代号是阿特拉斯", "项目代号是阿特拉斯山"),
    "claimed in French": ("Le projet est Atlas", "Il prétend que le projet est Atlas"),
    "claimed in Vietnamese": ("Dự án là Atlas", "Họ cho rằng dự án là Atlas"),
    "claimed in Chinese": ("编辑器是Helix", "他声称编辑器是Helix"),
}  # fmt: skip


@pytest.mark.parametrize(("sentence", "text"), SAID.values(), ids=SAID)
def test_what_a_text_says_is_found(sentence: str, text: str) -> None:
    assert asserts(sentence, text)


@pytest.mark.parametrize(("sentence", "text"), NOT_SAID.values(), ids=NOT_SAID)
def test_what_a_text_does_not_say_is_not_found(sentence: str, text: str) -> None:
    assert not asserts(sentence, text)


def test_telling_words_alone_are_not_the_exact_words() -> None:
    assert not asserts_exactly("The preferred editor: Helix", "Preferred editor is Helix")
    assert asserts_exactly("preferred EDITOR is helix.", "Preferred editor is Helix")


def test_only_words_that_change_nothing_may_stand_between() -> None:
    assert asserts("alpha omega", "alpha still the omega")
    assert not asserts("alpha omega", "alpha word omega")


def test_a_blank_sentence_is_said_nowhere() -> None:
    assert not asserts(" . ", "anything")


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_texts_can_be_compared(sentence: str, before: str, after: str) -> None:
    assert asserts(sentence, before + sentence + after) in (True, False)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("a b " * 400, "a b " * 2000),
        ("x " * 800, "x " * 4000),
        ("no " * 500, "no " * 3000),
        ("fact:" * 300, "fact:" * 1600),
        ("o.b" * 500, "o.b" * 2700),
    ],
)
def test_hostile_texts_take_no_time(sentence: str, text: str) -> None:
    assert takes_under(2, lambda: asserts(sentence, text[: 8 * 1024]))


@pytest.mark.parametrize(
    "text", ["`" * 4000 + " " + "`" * 4000, "~" * 4000 + " " + "~" * 4000, "我" * 40_000]
)
def test_a_text_of_one_sign_takes_linear_time(text: str) -> None:
    assert takes_under(2, lambda: asserts("The office is in Oslo", own_words(text)))
