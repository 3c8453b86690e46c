"""Two wordings of one thing have one key; what a statement is about is found where it is plain."""

import pytest

from tests.support.tables import every_row
from understudy.learnings.keys import Key, key_of

SAME = {
    "the worked example": (
        "project codename=atlas",
        ("The project codename is Atlas.", "project codename: atlas", "Project codename = ATLAS;",
         "The project codename = ATLAS;", "project codename:atlas", "project  codename=atlas",
         "“Project codename is Atlas.”", "**Project codename: Atlas**", "(Project codename is Atlas)"),
    ),
    "French": ("projet=atlas", ("Le projet est Atlas", "projet: atlas", "Les projets sont Atlas")),
    "an elided article": ("éditeur=helix", ("L'éditeur est Helix", "éditeur : helix", "E\u0301diteur: Helix")),
    "Vietnamese": (
        "mã dự án=atlas",
        ("Mã dự án là Atlas", "mã dự án: atlas", "MÃ DỰ ÁN = ATLAS", "Ma\u0303 dự án: Atlas"),
    ),
    "Chinese": (
        "项目代号=阿特拉斯",
        ("项目代号是阿特拉斯", "项目代号：阿特拉斯", "项目代号＝阿特拉斯", "项目代号 是 阿特拉斯。", "项目代号就是阿特拉斯",
         "项目 代号: 阿特拉斯"),
    ),
    "wide letters": ("port=8080", ("port：8080", "ｐｏｒｔ： ８０８０", "Port is 8080")),
    "a denial": ("sky=not blue", ("The sky is not blue", "Sky isn't blue.", "sky isn’t blue")),
    "a French denial": ("projet=pas atlas", ("Le projet n'est pas Atlas", "projet: pas Atlas")),
    "a Vietnamese denial": ("dự án=not atlas", ("Dự án không phải là Atlas", "dự án: không Atlas")),
    "a Chinese denial": ("颜色=not 红", ("颜色不是红", "颜色：不红")),
    "one or several": (
        "prefer editor=helix",
        ("Preferred editor is Helix", "preferred editors are Helix", "Preferred editors: helix"),
    ),
    "more plurals": ("policy=strict", ("Policies are strict", "The policy is strict")),
    "and more": ("branch=short", ("Branches are short", "branch: short")),
    "mixed scripts": ("缓存=redis", ("使用 Redis 作为缓存", "使用Redis作为缓存")),
    "money and shares": ("budget=$5 or 5%", ("Budget is $5 or 5%", "budget: $ 5 or 5 %")),
    "no subject": ("it is atlas", ("It is Atlas", "it is ATLAS!", "It  is\nAtlas")),
}  # fmt: skip
WITHOUT_SUBJECT = (
    "It is Atlas", "This is blue", "There are two teams", "They are in Paris", "What is the codename?", "它是阿特拉斯",
    "这是阿特拉斯", "Nó là Atlas", "X is blue", "Elle est verte",
    # clocks, ratios and addresses
    "Office hours 09:00 to 17:00 in Paris",
    "Use a ratio of 16 : 9 there", "Read https://example.com/docs?a=b first", "Write to mailto:bob@example.com",
    "Ask localhost:8080 first", "Pull redis:7 from there", "Reach fe80::1 from there", "Use urn:isbn:123 there",
    # paths, namespaces and code
    "Files lie in C:\\Users\\bob", "Files lie in C:/Users/bob", "Prefer std::vector there", "Look at PATH=/usr/bin:/bin",
    "Check that x == yes first", "Check that foo == bar first", "Check that foo != bar first", "Retry while load >= limit",
    "Call foo(name=1) first", "Call foo(name = bar) first", "Write `name = bar` first", "Run make --jobs=four now",
    "def name(x): return", "if name == other: stop", 'Send {"codename": "atlas"} there', "Map foo => bar there",
    # headers of mails and requests
    "Subject: hello there", "From: somebody", "Content-Type: text/html", "X-Request-Id: abcdef", "Re: the project",
    # conditions and what only holds the same words
    "If CI is red, stop merging", "When the build is green, merge", "Nếu CI là đỏ thì dừng", "如果构建是红的就停",
    "Deploys (which are rare) use Helm", "Say “the sky is blue” twice",
)  # fmt: skip
SUBJECTS = {
    "Standup is at 10:30": "standup",
    "Docs: https://example.com/a?b=c": "doc",
    "Ratio: 16:9": "ratio",
    "Editor (preferred): Helix": "editor preferred",
    "Preferred language is C++": "language",
    "Max retries is 3": "max retry",
    "Reaction is 👍": "reaction",
    "The deploy (on Fridays) is forbidden": "deploy on friday",
    "Note on std::vector: avoid copies": "note on std vector",
    "Cache is redis:7": "cache",
    "The mail server is up": "mail server",
    "The port of the server is 80": "server port",
}
APART = (
    ("Sky is blue", "Sky is not blue"),
    ("Standup is at 10:30", "Standup is at 10:45"),
    ("Preferred language is C++", "Preferred language is C#"),
    ("Max retries is 3", "Max retries is 5"),
    ("Reaction is 👍", "Reaction is 👎"),
    ("颜色是红", "颜色不是红"),
    ("Offset is -5", "Offset is 5"),
    ("Limit is 50%", "Limit is 50"),
    ("Version is 1.2", "Version is 1/2"),
    ("Version is 1.2", "Version is 1 2"),
    ("Version is 1-2", "Version is 1.2"),
    ("Budget is $1.5", "Budget is $1 5"),
    ("Offset is -1.5", "Offset is -1 5"),
    ("The repo is github.com/good/repo", "The repo is github.com/good.repo"),
    ("Owner is bob@example.com", "Owner is bob example com"),
    ("Root is /srv", "Root is srv"),
    ("Image is my-app:1.2", "Image is my app 1.2"),
    ("版本是1.2", "版本是1 2"),
    # A letter of another script that looks the same.
    ("The payment account is GOOD", "The p\u0430yment account is EVIL"),
    ("The cop is GOOD", "The \u0441\u043e\u0440 is EVIL"),
    ("The alpha is GOOD", "The \u03b1lpha is EVIL"),
)
OTHER_WORDS = (
    ("Keep latency < 5", "Keep latency > 5"),
    ("Retry while load >= limit", "Retry while load <= limit"),
    ("Stop if a == bee", "Stop if a != bee"),
    ("👍", "👎"),
    ("???", "!!!"),
    ("कि", "की"),
    ("Use 1.2 there", "Use 1/2 there"),
)


@pytest.mark.parametrize(("key", "wordings"), SAME.values(), ids=SAME)
def test_wordings_of_one_thing_have_one_key(key: str, wordings: tuple[str, ...]) -> None:
    assert {wording: key_of(wording).semantic for wording in wordings} == dict.fromkeys(
        wordings, key
    )


@every_row("text", WITHOUT_SUBJECT)
def test_what_only_looks_like_a_statement_about_something_has_no_subject(text: str) -> None:
    assert key_of(text).subject is None


@pytest.mark.parametrize(("text", "subject"), SUBJECTS.items())
def test_what_a_statement_is_about_is_found(text: str, subject: str) -> None:
    assert key_of(text).subject == subject


@pytest.mark.parametrize(("one", "other"), APART)
def test_another_value_of_one_subject_contradicts(one: str, other: str) -> None:
    first, second = key_of(one), key_of(other)

    assert first.subject == second.subject is not None
    assert first.semantic != second.semantic


@pytest.mark.parametrize(("one", "other"), OTHER_WORDS)
def test_signs_that_mean_something_keep_statements_apart(one: str, other: str) -> None:
    assert key_of(one).semantic != key_of(other).semantic


def test_the_key_of_a_key_is_the_key() -> None:
    assert key_of("project codename=atlas") == Key("project codename=atlas", "project codename")
    assert key_of("it is atlas") == Key("it is atlas", None)


@pytest.mark.parametrize("piece", ["(", "“", "a:", "a=b ", "a.b-", "不是", "== ", "is ", "$ "])
def test_long_texts_take_no_more_than_their_length(piece: str) -> None:
    """Were it with the square of the length, this would not end in time."""
    assert key_of(piece * 20_000).semantic
