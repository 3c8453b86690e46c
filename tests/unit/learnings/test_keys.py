"""Which statements obviously say the same, are about the same subject, or contradict each other."""

import pytest

from tests.support.tables import every_row
from understudy.learnings.keys import Key, key_of, obvious_relation
from understudy.learnings.model import Relation

SAME = {
    "the worked example": (
        "project codename=atlas",
        ("The project codename is Atlas.", "project codename: atlas", "Project codename = ATLAS;",
         "project  codename=atlas", "“Project codename is Atlas.”", "**Project codename: Atlas**",
         "Our project codename is Atlas", "The user's project codename is Atlas"),
    ),
    "Vietnamese": ("mã dự án=atlas", ("Mã dự án là Atlas", "mã dự án: atlas", "MÃ DỰ ÁN = ATLAS")),
    "Chinese": ("项目代号=阿特拉斯", ("项目代号是阿特拉斯", "项目代号：阿特拉斯", "项目代号就是阿特拉斯")),
    "wide letters": ("port=8080", ("port：8080", "ｐｏｒｔ： ８０８０", "Port is 8080")),
    "a denial": ("sky=not blue", ("The sky is not blue", "Sky isn't blue.", "sky isn’t blue")),
    "a Vietnamese denial": ("dự án=not atlas", ("Dự án không phải là Atlas", "dự án: không Atlas")),
    "a Chinese denial": ("颜色=not 红", ("颜色不是红", "颜色：不红")),
    "a number in words": ("there are 3 reviewers", ("There are three reviewers", "There are 3 reviewers")),
    "no copula": ("we deploy on fridays", ("We deploy on Fridays", "we deploy on fridays!")),
    "a denied verb": ("not we use kafka", ("We don't use Kafka", "We do not use Kafka.")),
}  # fmt: skip
CONTRADICTIONS = (
    ("My manager is Priya", "My manager is Tom"),
    ("The codename is Atlas", "Codename: Borealis"),
    ("The office is in Lyon", "The office is in Berlin"),
    ("Timeout is 30 seconds", "The timeout is 45 seconds"),
    ("Standup is at 10:30", "Standup is at 10:45"),
    ("Offset is -5", "Offset is 5"),
    ("Version is 1.2", "Version is 1/2"),
    ("The language is C++", "The language is C#"),
    ("The sky is blue", "The sky is not blue"),
    ("We use Kafka", "We don't use Kafka"),
    ("Reviews need 2 approvals", "Reviews need 3 approvals"),
    ("Cổng là 8080", "Cổng là 9090"),
    ("数据库是 MySQL", "数据库是 PostgreSQL"),
    ("我们用 Kafka", "我们不用 Kafka"),
)
UNRELATED = (
    ("It is Atlas", "It is Borealis"),
    ("If CI is red, stop", "If CI is green, stop"),
    ("Ann is a doctor", "Ann is a mother"),
    ("Max is vegan", "Max is tall"),
    ("Backups are encrypted", "Backups are compressed"),
    ("The log is rotated", "The log is archived"),
    ("The docs are in English", "The docs are also in Japanese"),
    ("The app is free", "The app is open source"),
    ("The lead is Ann", "The lead is Ann Smith"),
    ("The sky is not blue", "The sky is not green"),
    ("We ship 3 apps in 2 weeks", "We ship 4 apps in 2 weeks"),
    ("We use Kafka", "We use RabbitMQ"),
    ("Gate 3 has a green bolt", "Gate 4 has a green bolt"),
    ("Fact number 3", "Fact number 4"),
    ("Read https://example.com/a", "Read https://example.com/b"),
)


@pytest.mark.parametrize(("key", "wordings"), SAME.values(), ids=SAME)
def test_wordings_of_one_thing_have_one_key(key: str, wordings: tuple[str, ...]) -> None:
    assert {wording: key_of(wording).semantic for wording in wordings} == dict.fromkeys(
        wordings, key
    )


@every_row(("one", "other"), CONTRADICTIONS)
def test_another_value_of_one_subject_or_its_denial_contradicts(one: str, other: str) -> None:
    assert key_of(one).subject == key_of(other).subject is not None
    assert obvious_relation(one, other) is Relation.CONTRADICTS
    assert obvious_relation(other, one) is Relation.CONTRADICTS


@every_row(("one", "other"), UNRELATED)
def test_what_may_hold_together_does_not_contradict(one: str, other: str) -> None:
    assert obvious_relation(one, other) is Relation.UNKNOWN
    assert obvious_relation(other, one) is Relation.UNKNOWN


def test_the_key_of_a_key_is_the_key() -> None:
    assert key_of("project codename=atlas") == Key("project codename=atlas", "project codename")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keep latency < 5", "Keep latency > 5"),
        ("👍", "👎"),
        ("कि", "की"),
        ("The payment account is GOOD", "The p\u0430yment account is EVIL"),
    ],
)
def test_signs_that_mean_something_keep_statements_apart(one: str, other: str) -> None:
    assert key_of(one).semantic != key_of(other).semantic


def test_letters_that_look_alike_make_one_subject() -> None:
    assert key_of("The p\u0430yment account is EVIL").subject == "payment account"


@pytest.mark.parametrize("piece", ["(", "“", "a:", "a=b ", "a.b-", "不是", "== ", "is ", "$ "])
def test_long_texts_take_no_more_than_their_length(piece: str) -> None:
    """Were it with the square of the length, this would not end in time."""
    assert key_of(piece * 20_000).semantic
