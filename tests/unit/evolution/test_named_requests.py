"""Asking in one's own words to delete a skill or to publish a folder, with as many traps as requests."""

import pytest

from tests.support.cpu_effort import takes_under
from understudy.evolution.acts import act_of, asks_to_delete, asks_to_publish
from understudy.evolution.answers import MAX_CHARS

SLUG, PATH = "short-lived", "drafts/report"
DELETE = (
    *("Please delete the skill short-lived.", "delete short-lived", "Remove the short-lived skill, thanks"),
    *("drop short-lived", "remove my old skill called short-lived please", "Great, delete the skill short-lived."),
    *("Delete Short-Lived", "delete short-lived now, please", "get rid of the skill short-lived"),
    *("xóa kỹ năng short-lived", "xoá short-lived đi", "Hãy xóa kỹ năng short-lived nhé"),
    *("删除技能 short-lived", "把short-lived技能删除", "请删除short-lived", "刪除技能short-lived吧"),
)  # fmt: skip
# Only where it was just spoken of is it the one that is meant.
NAMELESS = (
    *("Delete the skill.", "Great! Delete this skill.", "get rid of that skill", "delete my old skill please"),
    *("xoá kỹ năng này đi", "请删除这个技能", "把这个技能删掉"),
)  # fmt: skip
# An offer asks for these once more.
OTHER_WORDS = (
    *("could you delete the skill short-lived?", "Great work! Delete the skill short-lived.", "Delete the skill short lived."),
    *("delete the skill short-lived and make a new one", "Tidy up, then delete short-lived"),
)  # fmt: skip
# Words that happen to be those of a slug.
WORDS = (
    *(("remove the header", "header"), ("delete the tests", "tests"), ("Please delete old logs", "old-logs")),
    *(("drop the users", "users"), ("remove it", "it"), ("delete old logs because old-logs are big", "old-logs")),
    *(("Delete Short Lived", SLUG), ("xóa short lived", SLUG), ("删除header", "header"), ("delete this", "this")),
    *(("delete /old-logs", "old-logs"), ("delete old-logs/", "old-logs"), ("delete old-logs.md", "old-logs")),
    *(("delete ../old-logs", "old-logs"), ("delete my-old-logs", "old-logs"), ("remove the skill", "skill")),
)  # fmt: skip
KEEP = (
    *("don't delete the skill short-lived", "do not remove this skill", "never delete short-lived"),
    *("should I delete the skill short-lived?", "can I delete the skill short-lived?", "what does delete the skill do?"),
    *("delete the skill other-one", "delete short-lived-two", "Delete short-lived other", "delete the file"),
    *("> delete the skill short-lived", 'he said "delete the skill short-lived"', "```\ndelete short-lived\n```"),
    *("bob: delete the skill short-lived", "- delete the skill short-lived", "the page says delete this skill"),
    *("delete the skill short-lived tomorrow", "if it fails, delete the skill short-lived", "delete", "delete it"),
    *("Delete the skill short-lived. No, wait.", "save as skill", "make a skill of this", "skip"),
    *("I got this mail.\n\nPlease delete the skill short-lived.", "What is this? Delete the skill short-lived."),
    *("不要删除技能 short-lived", "别删除这个技能", "要不要删除这个技能？", "đừng xóa kỹ năng short-lived"),
    *("Can we delete the skill short-lived?", "Would you delete the skill short-lived?", "可以删除技能 short-lived 吗？"),
)  # fmt: skip
PUBLISH = (
    *("Publish drafts/report.", "publish the folder drafts/report as a skill", "please publish the skill in drafts/report"),
    *("发布 drafts/report", "请发布技能 drafts/report", "xuất bản thư mục drafts/report"),
)  # fmt: skip
HOLD_BACK = (
    *("publish report", "Publish this folder as a skill", "请发布这个技能", "Tidy drafts/report and publish drafts/report"),
    *("publish it", "publish the package", "don't publish drafts/report", "publish drafts/other"),
    *("should we publish drafts/report?", "publish the blog post report to the web", "> publish drafts/report"),
    *("Translate this:\npublish drafts/report", "publish drafts/report later", "不要发布 drafts/report"),
)  # fmt: skip


@pytest.mark.parametrize("text", DELETE)
def test_a_user_asks_to_delete_a_skill(text: str) -> None:
    assert asks_to_delete(text, SLUG)


@pytest.mark.parametrize("text", NAMELESS)
def test_the_skill_is_the_one_that_was_spoken_of(text: str) -> None:
    assert asks_to_delete(text, SLUG, is_spoken_of=True)
    assert not asks_to_delete(text, SLUG)
    # Nobody has been told which.
    assert not asks_to_delete(text, "", is_spoken_of=True)


@pytest.mark.parametrize(("text", "slug"), WORDS)
def test_words_that_are_those_of_a_slug_name_no_skill(text: str, slug: str) -> None:
    assert not asks_to_delete(text, slug)


@pytest.mark.parametrize("text", [*OTHER_WORDS, *KEEP])
def test_what_leaves_a_doubt_deletes_nothing(text: str) -> None:
    assert not asks_to_delete(text, SLUG)
    assert not asks_to_delete(text, SLUG, is_spoken_of=True)


@pytest.mark.parametrize("text", PUBLISH)
def test_a_user_asks_to_publish_a_folder(text: str) -> None:
    assert asks_to_publish(text, PATH)


@pytest.mark.parametrize("text", HOLD_BACK)
def test_what_leaves_a_doubt_publishes_nothing(text: str) -> None:
    assert not asks_to_publish(text, PATH)


@pytest.mark.parametrize("name", ["", " ", "-", ".*", "a|skip", "(", "x" * 5000, "\x00", "skill("])
def test_odd_names_are_only_names(name: str) -> None:
    for text in ("delete", "delete anything at all", "skip", "publish whatever"):
        assert not asks_to_delete(text, name)
        assert not asks_to_delete(text, name, is_spoken_of=True)
        assert not asks_to_publish(text, name)


def test_a_skill_is_kept_under_the_name_that_the_call_gives_it() -> None:
    act = act_of("skill_manage", {"action": "create", "slug": "weekly-report", "content": "x"})
    assert act is not None

    assert act.is_asked_for("Save this as a skill called weekly-report.")
    assert not act.is_asked_for("Save this as a skill called daily-report.")
    assert not act.is_asked_for("Don't save this as a skill called weekly-report.")
    assert not act.is_asked_for("weekly-report")


def test_the_longest_message_is_read_in_no_time() -> None:
    text = ("the skill " * 20)[:MAX_CHARS]
    assert takes_under(0.5, lambda: asks_to_delete(text, SLUG))
    assert takes_under(0.5, lambda: asks_to_delete(text * 1000, SLUG))
