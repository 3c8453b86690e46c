"""What a user's message means for an offer, in three languages, with as many traps as answers."""

import unicodedata

import pytest

from tests.support.cpu_effort import takes_under
from tests.support.tables import every_row
from understudy.evolution.answers import MAX_CHARS, MessageIntent, intent_of, is_bare_no
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
    *("make this a skill", "Make this a skill!", "Great, thanks! Please make a skill of this.", "Yes, make it a skill"),
    *("Sounds good, make it a skill", "Agreed, turn this into a skill", "make a skill of this 🙂"),
    *("tạo kỹ năng từ việc này", "biến việc này thành kỹ năng nhé", "đồng ý, hãy lưu việc này thành kỹ năng"),
    *("把这个保存为技能", "请把这个流程做成一个技能", "嗯，把它做成技能", "那就把这个保存为技能吧"),
)  # fmt: skip
# Wishes that no list has: the call waits for the answer to an offer.
OTHER_WORDS = (
    *("Could you turn this into a skill?", "I'd like you to save this process as a skill", "create a skill for weekly reports"),
    *("Save this as a skill called weekly-report.", "Dọn thư mục rồi tạo kỹ năng từ việc này", "创建一个叫周报的技能"),
    *("Fix the tests, then make a skill of this.", "make this a skill\n\n```sh\nmake release\n```"),
)  # fmt: skip
# Said to an open offer these decline it; to nobody's question they mean nothing.
BARE = (
    *("no", "No.", "NO!", '"no"', "no thanks", "No, thanks!", "nope", "nah", "not now", "Not now, thanks.", "no thank you"),
    *("no, thank you", "no, not now", "not today", "not this time", "rather not", "I'd rather not", "no need", "nope, sorry"),
    *("không", "Không.", "không cần", "không cần đâu", "thôi", "thôi khỏi", "dạ không ạ", "không, cảm ơn", "để sau nhé", "khong"),
    *("不用", "不用了", "不", "不。", "不了", "不要", "不必了", "不需要", "算了", "不用，谢谢", "先不用", "暂时不用了", "謝謝，不用"),
)  # fmt: skip
NOT_BARE = (
    *("", "no?", "not", "yes", "ok", "no problem", "no worries", "no, go on", "not now but later", "no yes", "now", "knope"),
    *("no, save as skill", "no skip", "not bad", "no one", "no idea", "not yet done", "there is no need to wait", "> no"),
    *("```\nno\n```", "bob: no", "no is what he said", "say no", "thanks", "I said no to him", "no more than three", "no" * 150),
    *("không?", "không sao", "không có gì", "thôi được", "có", "không biết", "không phải vậy", "cảm ơn"),
    *("不客气", "不错", "不是", "不是这个", "好", "不知道", "不用担心", "要不要", "不行吗", "谢谢"),
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
    # Beside a question, or a text that it may belong to.
    "I got this mail from Bob, can you reply to it?\n\nHello, please create a skill for the weekly report.",
    "Look at this output\nmake a skill of this\nwhat should I answer?",
    *("Look at this output\nmake a skill of this", "make a skill of this\nwhat should I answer"),
    *("What does this button do? Save as skill", "Save as skill. What does this button do?"),
    *("Fix the typo in this sentence. Please save this as a skill", "Reply to Bob.\n\nPlease make this a skill."),
    *("Bob sent me this\n\nHi, please make this a skill.", "- what should I answer?\nmake this a skill"),
    *("Dear Ann,\nplease make this a skill", "Subject: hello\nplease make this a skill", "Is it good? make this a skill"),
    *("Please fix the typo in this line and then make a skill of it.", "If it works tidy up and make a skill of it."),
    *("Tell Bob to tidy the folder and then make a skill of it.", "Tidy up when you can and then make a skill of it"),
    *("Rewrite this politely.\n\nMake this a skill.", "Correct the grammar.\n\nPlease save this as a skill."),
    *("Bob wants an answer to this\n\nPlease make this a skill.", "Hi Bob,\n\nplease make this a skill.\n\nCheers\nAnn"),
    *("Trả lời thư này.\n\nHãy tạo kỹ năng từ việc này.", "Nút này để làm gì\nlưu thành kỹ năng tên là X"),
    *("我收到一封邮件。\n\n请把这个保存为技能", "这个按钮是做什么的？把这个保存为技能", "整理这封邮件，然后把它做成技能"),
    # Later, perhaps, or taken back.
    *("make this a skill if the tests pass", "make this a skill later", "maybe make this a skill"),
    *("Make this a skill. Actually no.", "Make this a skill. Wait, don't do it.", "save as skill and skip"),
    *("如果成功就把这个保存为技能", "把这个保存为技能。算了", "nếu được thì tạo kỹ năng từ việc này"),
    *("tạo kỹ năng từ việc này. Thôi.", "make this a skill but ask me first"),
    # Behind what the skill will do, or around it.
    *("create a skill for this if the tests pass", "create a skill for this if-and-only-if the tests pass"),
    *("Fix the e-mail and then make a skill of it.", "Run the what-if case and then make a skill of it."),
    *("create a skill for weekly reports if the tests pass", "create a skill for weekly reports, but not now"),
    *("create a skill for weekly reports tomorrow", "create a skill for weekly reports or skip"),
    *("create a skill that writes reports but ask me first", "create a skill that writes reports, if the tests pass"),
    *("create a skill that writes reports once you are done", "create a skill that writes reports, my boss said"),
    *("create a skill called weekly-report, he said", "make a skill of this, but ask me first"),
    *("create a skill for weekly reports, forget it", "create a skill that writes reports, oh never mind"),
    *("don't create a skill that writes weekly reports", "create the weekly-report skill?", "I don't want a skill for this"),
    *("do I want a skill for this?", "can you create a skill for me?", "can you create a new skill?", "I need a skill"),
    *("bob: create the weekly-report skill", "don't use skill_manage to create a skill for this"),
    *("I got this mail.\n\nCreate a skill that writes weekly reports.", '"Create the skill weekly-report"'),
    *("đừng tạo kỹ năng viết báo cáo tuần", "tạo kỹ năng viết báo cáo tuần không?", "tạo kỹ năng viết báo cáo nếu được"),
    *("不要创建一个每周报告的技能", "创建一个每周报告的技能吗？", "如何创建一个每周报告的技能", "创建一个每周报告的技能，如果成功"),
    # About something else.
    *("create the skill tree", "make the skill read-only", "make the weekly-report skill public", "add a skill"),
    *("make the most of my skill", "write a test for the skill", "make a copy of the skill", "I want a skill for my resume"),
    *("add a cooking skill to my profile", "create a fire wizard skill", "create a soft skill", "tạo kỹ năng viết cv"),
    *("做一个页面展示团队的技能", "做一个列表列出所有的技能", "创建一个每周报告的技能树"),
    *("create a skill tree for my game", "make it a skill issue", "add a skill to my resume"),
    *("save the skills to a json file", "save the skill to a file", "create skills for the team"),
    *("save as skills.txt", "skip the tests", "I will create a skill myself", "my skill is cooking"),
    *("to save this as a skill, click the button", "write a skill section for my CV", "skipping"),
    *("tạo kỹ năng mềm", "bỏ qua bước 2", "kỹ năng", "跳过测试", "保存技能点", "技能"),
    *("把这个保存为技能的步骤写下来", "创建一个技能树", "yes", "no", "ok", "", " ", "?", "save", "保存"),
)  # fmt: skip


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_answer_accepts(text: str) -> None:
    assert intent_of(text) is MessageIntent.ACCEPT


@pytest.mark.parametrize("text", DECLINED)
def test_an_answer_declines(text: str) -> None:
    assert intent_of(text) is MessageIntent.DECLINE


@every_row("text", BARE)
def test_a_plain_no_is_one_and_by_itself_declines_nothing(text: str) -> None:
    assert is_bare_no(text)
    assert intent_of(text) is None


@every_row("text", NOT_BARE)
def test_what_says_more_or_something_else_is_no_plain_no(text: str) -> None:
    assert not is_bare_no(text)


@every_row("text", REQUESTED)
def test_a_wish_of_ones_own_is_a_request(text: str) -> None:
    assert intent_of(text) is MessageIntent.REQUEST


@every_row("text", OTHER_WORDS)
def test_a_wish_in_other_words_waits_for_an_answer(text: str) -> None:
    assert intent_of(text) is None


@every_row("text", TRAPS)
def test_what_only_looks_like_an_answer_is_none(text: str) -> None:
    assert intent_of(text) is None


@every_row("text", [*ACCEPTED, *DECLINED, *REQUESTED, *TRAPS])
def test_composed_and_decomposed_letters_read_the_same(text: str) -> None:
    read = {intent_of(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}

    assert len(read) == 1


@pytest.mark.parametrize(
    ("key", "meaning"),
    [("consent.save", MessageIntent.ACCEPT), ("consent.skip", MessageIntent.DECLINE)],
)
def test_every_phrase_of_the_catalogues_works(key: str, meaning: MessageIntent) -> None:
    said = [phrase for spoken in phrases(key).values() for phrase in spoken]

    assert {intent_of(phrase) for phrase in said} == {meaning}


def test_a_wish_at_the_end_of_an_endless_message_is_none() -> None:
    assert intent_of("well. " * 20 + "make this a skill") is MessageIntent.REQUEST
    assert intent_of("well. " * 100 + "make this a skill") is None


@pytest.mark.parametrize(
    "hostile",
    [
        *('"', "'a ", "`", ">\n", "<a ", "\n", ":", "- ", "(", "a:b ", "“", "```\n"),
        *("make this a skill ", "make this a skill and ", "please ", "make a x x x skill of "),
        *(
            "create a skill that ",
            "skill that to for called , ",
            "create a skill for a-b",
            "创建一个的",
            "a-",
            "a_-",
        ),
        *(
            "把这个保存为技能",
            "好的请",
            "那就",
            "创建一个叫",
            "kỹ năng từ này ",
            "a\u0301\u0323",
            "\u0301\u0323",
        ),
    ],
)
def test_no_message_takes_long_to_read(hostile: str) -> None:
    text = (hostile * MAX_CHARS)[: MAX_CHARS - 12] + " skill 技能"

    assert takes_under(0.5, lambda: intent_of(text))
