"""What a user's message means for an offer, in three languages, with as many traps as answers."""

import time
import unicodedata

import pytest

from understudy.evolution.wording import MAX_CHARS, Consent, reads_as
from understudy.i18n.catalogue import phrases

ACCEPTED = (
    *("save as skill", "Save as skill.", ' "SAVE AS SKILL" ', "“save as skill”", "'Save as skill'"),
    *("**save as skill**", "`save as skill`", "save-as-skill", "Save as skill!!!", "(save as skill)"),
    *("yes, save as skill please", "ok save as skill", "Sure, go ahead and save as skill. Thanks!"),
    *("save as a skill", "Yes: save this as a skill", "👍 save as skill", "\ufeffsave as skill\u200b"),
    *("ｓａｖｅ　ａｓ　ｓｋｉｌｌ", "\nsave as skill\n"),
    *("lưu kỹ năng", "Lưu Kỹ Năng.", "LƯU KỸ NĂNG", "vâng, lưu kỹ năng nhé", "lưu kĩ năng", "luu ky nang"),
    *("保存技能", "保存技能。", "好的，保存技能吧", "请保存技能，谢谢", "「保存技能」", "保 存 技 能", "儲存技能"),
)  # fmt: skip
DECLINED = (
    *("skip", "Skip.", "SKIP!", '"skip"', "skip it", "no, skip", "ok skip", "Skip, thanks!", "just skip"),
    *("no thanks, skip", "skip for now", "ｓｋｉｐ", "nope skip"),
    *("bỏ qua", "Bỏ qua.", "thôi bỏ qua đi", "không, bỏ qua", "bỏ qua nhé", "bo qua"),
    *("跳过", "跳过。", "算了，跳过吧", "不，跳过", "跳過", "请跳过"),
)  # fmt: skip
REQUESTED = (
    *("make this a skill", "Make this a skill!", "please create a skill called X from that"),
    *("Great work! Please save this as a skill.", "turn what you just did into a reusable skill"),
    *("that worked, save it as a skill", "could you turn this into a skill?", "Let's make it a skill"),
    *("I'd like you to save this process as a skill named weekly-report", "create a skill for weekly reports"),
    *('create a skill called "my weekly sales report"', "make a skill out of it so we can reuse it"),
    *("Thanks. Save this as a skill for later.", "create a deploy skill from this"),
    *("make this a skill\n\n```sh\nmake release\n```", "Save as skill and tell me its name."),
    *("> earlier you wrote this\n\nyes, please make that a skill", "Can you please make this a skill?"),
    *("tạo kỹ năng từ việc này", "Hãy lưu quy trình này thành một kỹ năng tên là Báo cáo tuần"),
    *("biến việc này thành kỹ năng nhé", "bạn có thể tạo kỹ năng từ việc này không?"),
    *("tạo kỹ năng cho việc này được không?", "Tốt lắm! Lưu lại thành kỹ năng giúp tôi."),
    *("把这个保存为技能", "请把这个流程做成一个技能", "好的，把它存成技能吧，谢谢", "帮我创建一个技能"),
    *("創建一個叫週報的技能", "你能把这个保存为技能吗？", "把刚才的步骤整理成技能，名为周报", "用这个创建一个技能"),
)  # fmt: skip
TRAPS = (
    # Denied.
    *("don't save as skill", "do not save as skill", "please don't make this a skill", "don't skip"),
    *("never make this a skill", "I don't want you to make this a skill", "no save as skill", "no skip"),
    *("~~save as skill~~", "🚫 save as skill", "make this a skill, not"),
    *("đừng lưu kỹ năng", "không lưu kỹ năng", "đừng tạo kỹ năng từ việc này", "không bỏ qua", "đừng bỏ qua"),
    *("不要保存技能", "别把这个保存为技能", "我不想把这个保存为技能", "不要跳过", "不跳过"),
    # Asked about.
    *("what does save as skill mean?", "save as skill?", "skip?", "how do I make this a skill?"),
    *("Should I save this as a skill?", "can you create a skill?", "will you make this a skill?"),
    *("why did you create a skill?", "make this a skill?", "save as skill or skip"),
    *("lưu kỹ năng là gì?", "tạo kỹ năng từ việc này không?", "bạn có thể tạo kỹ năng không?"),
    *("保存技能是什么意思？", "把这个保存为技能吗？", "什么是保存技能", "如何把这个保存为技能"),
    # Shown, quoted, told.
    *("> save as skill", "```\nsave as skill\n```", "```save as skill```", "bob: save as skill"),
    *("he said save as skill", 'the page says "save as skill"', '"make this a skill"', "“把这个保存为技能”"),
    *("Bob: ok. make this a skill", "Translate this:\nmake this a skill", "make this a skill, he said"),
    *("Summarise the text below.\n\nMake this a skill.", "- make this a skill", "# Make this a skill"),
    *("1. fix it\n2. make this a skill", '{"role": "user", "content": "save as skill"}'),
    *('The page says "please do make this a skill" make this a skill', "<p>make this a skill</p>"),
    *("On Monday Bob wrote:\n> save as skill", "Pretend I wrote this. Make this a skill."),
    *("他说把这个保存为技能", "翻译下面的话。把这个保存为技能", "anh ấy nói lưu kỹ năng"),
    *("user\nsave as skill", "save as skill /s", "My notes:\nmake this a skill"),
    # Later, perhaps, or taken back.
    *("make this a skill if the tests pass", "make this a skill later", "maybe make this a skill"),
    *("Make this a skill. Actually no.", "Make this a skill. Wait, don't do it.", "save as skill and skip"),
    *("如果成功就把这个保存为技能", "把这个保存为技能。算了", "nếu được thì tạo kỹ năng từ việc này"),
    *("tạo kỹ năng từ việc này. Thôi.", "make this a skill but ask me first"),
    # About something else.
    *("create a skill tree for my game", "make it a skill issue", "add a skill to my resume"),
    *("save as skills.txt", "skip the tests", "I will create a skill myself", "my skill is cooking"),
    *("to save this as a skill, click the button", "write a skill section for my CV", "skipping"),
    *("tạo kỹ năng mềm", "bỏ qua bước 2", "kỹ năng", "跳过测试", "保存技能点", "技能"),
    *("把这个保存为技能的步骤写下来", "创建一个技能树", "yes", "no", "ok", "", " ", "?", "save", "保存"),
)  # fmt: skip


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_answer_accepts(text: str) -> None:
    assert reads_as(text) is Consent.ACCEPT


@pytest.mark.parametrize("text", DECLINED)
def test_an_answer_declines(text: str) -> None:
    assert reads_as(text) is Consent.DECLINE


@pytest.mark.parametrize("text", REQUESTED)
def test_a_wish_of_ones_own_is_a_request(text: str) -> None:
    assert reads_as(text) is Consent.REQUEST


@pytest.mark.parametrize("text", TRAPS)
def test_what_only_looks_like_an_answer_is_none(text: str) -> None:
    assert reads_as(text) is None


@pytest.mark.parametrize("text", [*ACCEPTED, *DECLINED, *REQUESTED, *TRAPS])
def test_composed_and_decomposed_letters_read_the_same(text: str) -> None:
    read = {reads_as(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}

    assert len(read) == 1


@pytest.mark.parametrize(
    ("key", "meaning"), [("consent.save", Consent.ACCEPT), ("consent.skip", Consent.DECLINE)]
)
def test_every_phrase_of_the_catalogues_works(key: str, meaning: Consent) -> None:
    said = [phrase for spoken in phrases(key).values() for phrase in spoken]

    assert {reads_as(phrase) for phrase in said} == {meaning}


def test_a_wish_at_the_end_of_an_endless_message_is_none() -> None:
    assert reads_as("well. " * 100 + "make this a skill") is Consent.REQUEST
    assert reads_as("well. " * MAX_CHARS + "make this a skill") is None


@pytest.mark.parametrize(
    "hostile",
    [
        *('"', "'a ", "`", ">\n", "<a ", "\n", ":", "- ", "(", "a:b ", "“", "```\n"),
        *("make this a skill ", "make this a skill and ", "please ", "make a x x x skill of "),
        *(
            "把这个保存为技能",
            "好的请",
            "创建一个叫",
            "kỹ năng từ này ",
            "a\u0301\u0323",
            "\u0301\u0323",
        ),
    ],
)
def test_no_message_takes_long_to_read(hostile: str) -> None:
    text = (hostile * MAX_CHARS)[: MAX_CHARS - 12] + " skill 技能"

    started = time.process_time()
    reads_as(text)

    assert time.process_time() - started < 2
