"""The many natural ways to ask for a skill, and more that only look like it: none of those counts."""

import unicodedata

import pytest

from tests.support.tables import every_row
from understudy.evolution.answers import MessageIntent, intent_of

ASKED = (
    # As a polite question.
    *("可以把这个保存成技能吗？", "你可以把这个做成技能吗", "你可以把刚才的流程做成技能吗？", "可以把它变成一个技能吗?"),
    *("您可以帮我把这个流程存成技能吗？", "可以请你把这个做成技能吗？"),
    "Would you kindly save this as a skill?",
    *("Will you please save this as a skill?", "Will you please make a skill of this?"),
    *("bạn lưu cái này thành kỹ năng được không?", "bạn có thể lưu quy trình này thành kỹ năng giúp mình không?"),
    # Of work that is named or pointed at.
    *("Convert this to a skill", "Change this into a skill", "Save the weekly report workflow as a skill"),
    *("Turn the weekly report workflow into a skill", "Save the steps above as a skill", "Turn that report process into a skill"),
    *("Save the steps you took as a skill", "Turn the steps we followed into a skill", "Save process as skill"),
    *("Please convert the above into a skill", "Hãy biến những gì bạn vừa làm thành kỹ năng", "That was helpful, please make it a skill"),
    *("store this workflow as a skill for next time", "let's make this a reusable skill", "Could you save the process as a skill?"),
    *("hãy lưu quy trình này thành kỹ năng", "lưu các bước trên thành kỹ năng", "Lưu quy trình báo cáo tuần thành kỹ năng"),
    *("biến các bước bạn vừa làm thành kỹ năng", "把刚才的流程做成一个技能", "请将其保存为技能", "把周报流程保存为技能"),
    *("把上述步骤保存为技能", "将以上流程存为技能", "把你刚才的步骤做成技能", "把這個流程轉成技能"),
    # With a name, or a reason.
    "Save as skill and name it Weekly report",
    *("lưu thành kỹ năng, tên là Báo cáo tuần", "保存为技能，名字叫周报"),
    *("Lưu lại cách làm này thành kỹ năng để lần sau dùng", "Save this process as a skill please, and thank you"),
    # As a wish.
    *("I want this to become a skill.", "I would like this to be a skill", "I'd like this to be saved as a skill."),
    *("Tôi muốn việc này trở thành kỹ năng", "Mình muốn lưu lại thành kỹ năng", "我希望把这个变成技能", "我想让你把这个做成技能"),
    # Behind a yes.
    *("Yes, make it a skill", "I approve, please make this a skill", "Sounds good, make it a skill"),
    *("Agreed, turn this into a skill", "Absolutely, make a skill of it", "嗯，把它做成技能", "đồng ý, hãy lưu việc này thành kỹ năng"),
    *("Please make a skill of this 🙂", "把这个做成技能🙂", "lưu việc này thành kỹ năng nhé 😊"),
    # Behind other work.
    *("Read report.md and make a skill of it", "Summarise the report and save the process as a skill"),
    *("Analyze the sales data, then turn the process into a skill", "Once done, turn it into a skill"),
    *("When you finish, save the process as a skill", "When you are done, make a skill of it", "Afterwards, save it as a skill"),
    *("After you are done, save it as a skill", "Once you're finished, please make a skill of this"),
    *("xong thì lưu lại thành kỹ năng nhé", "Sau khi xong, hãy lưu việc này thành kỹ năng", "Làm xong thì lưu quy trình thành kỹ năng"),
    *("完成后把它保存为技能", "做完之后，请把流程做成技能", "弄完以后把这个存成技能"),
    # In other words.
    *("Please do make a skill of this", "Do save it as a skill", "OK, do make the skill", "Document this as a skill"),
    *("Please write down this process as a skill.", "add this to my skills", "Add it to your skills, please", "add this to the skill library"),
    *("thêm việc này vào kỹ năng của bạn", "把这个加到你的技能里", "把这个添加到我的技能库"),
)  # fmt: skip
ACCEPTED = (
    *("yes, save it as a skill", "sounds good, save as skill", "I approve, save as skill", "Agreed, save as skill", "absolutely, save as skill"),
    *("Save as skill 🙂", "save as skill 😊🙏", "save as skill :)", "☺️ save as skill", "嗯，保存技能", "嗯嗯，保存技能吧"),
    *("đồng ý, lưu kỹ năng", "ok nhé, lưu kỹ năng 👍", "没问题，保存技能"),
)  # fmt: skip
NEITHER = (
    # An opinion as much as an order; or a condition behind it that no list knows.
    *("Would you make a skill of this, please?", "Would you turn this into a skill?", "Can we save this as a skill?", "Can we make this a skill?"),
    *("Could we save this as a skill?", "Could we turn this into a skill, please?", "save as skill weekly-report", 'save as skill "weekly report"'),
    *("Save as skill, call it weekly-report", "Save this as a skill, name it Weekly report", "Please save this as a skill (weekly-report)"),
    *("Please save this as a skill, I will need it again.", "Save this as a skill, we'll need it next week", "Save it as a skill, I use this every Friday"),
    *("save this as a skill, I need this confirmed by legal first", "save this as a skill we need it approved first"),
    *("make this a skill, we need this reviewed by security", "make it a skill, name it after Bob confirms"),
    *("save this as a skill, call this number for approval", "save this as a skill, call it tomorrow"),
    *("save this as a skill pending-approval", 'save as a skill "next week"'),
    # Denied.
    *("don't save as skill", "Do not turn this into a skill", "do not make a skill of this", "Would you not save this as a skill"),
    *("Would you please not turn this into a skill?", "Can we not save this as a skill?", "I don't want this to become a skill."),
    *("I would not like this to be a skill", "I want this not to be a skill", "I approve, but don't save as skill"),
    *("I don't approve, save as skill", "Once done, don't turn it into a skill", "When you finish, do not save the process as a skill"),
    *("Read report.md and don't make a skill of it", "Please save this as a skill, I will not need it again, so no"),
    *("don't add this to my skills", "Do not document this as a skill", "Save as skill, call it off", "make this a skill and call it off"),
    *("Save as skill, I do that myself", "save as skill just-kidding", "Make a skill of this. Not!", "I agree not to save as skill"),
    *("save as skill not-now", "save as skill maybe-later", "I disapprove, save as skill", "not agreed, save as skill"),
    *("không đồng ý lưu kỹ năng", "đừng thêm việc này vào kỹ năng của bạn", "xong thì đừng lưu thành kỹ năng", "嗯，不要保存技能"),
    *("可以不把这个保存成技能吗？", "你可以别把这个做成技能吗", "完成后不要把它保存为技能", "不要将其保存为技能", "嗯，别保存技能"),
    # Asked about.
    *("what does save as skill mean?", "Would you turn a page into a skill?", "Would you make a skill?", "Can we make skills?"),
    *("Can we save skills?", "Could we create a skill?", "Will you make this a skill?", "Should we turn this into a skill?"),
    *("Shall we save the weekly report workflow as a skill?", "Is this going to be a skill?", "Do we add this to my skills?"),
    *("Do I want this to become a skill", "Why would you turn this into a skill?", "Where can we save this as a skill?"),
    *("How can we save this as a skill?", "How would you turn this into a skill?", "Would this become a skill?"),
    *("Can I save this as a skill?", "Did you add this to my skills?", "Would you have made a skill of this?"),
    *("Would you turn this into a skill or leave it?", "Can we save this as a skill later?", "Would you ever turn this into a skill?"),
    *("Can you turn your work into skills?", "Can you turn a process into a skill?", "lưu các bước nào thành kỹ năng", "把哪个流程保存为技能"),
    *("可以把哪些步骤做成技能？", "你可以把流程变成技能吗", "Would you turn my resume into a skill page?", "Can we have a skill?"),
    *("Would you save this as a skill, if you were me?", "When would you turn this into a skill?", "Who can save this as a skill?"),
    *("你可以做技能吗？", "可以创建技能吗？", "可以保存技能吗", "这个可以保存成技能吗？", "为什么可以把这个保存成技能？", "怎样可以把这个做成技能"),
    *("我可以把这个做成技能吗？", "是否可以把这个保存成技能", "bạn lưu kỹ năng được không", "tại sao lưu việc này thành kỹ năng?"),
    # Only on a condition, later, or perhaps.
    *("if the tests pass, save it as a skill", "When the tests pass, save it as a skill", "Once Bob agrees, turn it into a skill"),
    *("Once it works, turn it into a skill", "When I say so, save this as a skill", "After the review, save this as a skill"),
    *("When you finish, ask whether to save the process as a skill", "Once done, maybe turn it into a skill"),
    *("Read report.md and if it is good make a skill of it", "Summarise the report and maybe save the process as a skill"),
    *("Unless I object, save it as a skill", "Should it work, save it as a skill", "Assuming it works, save it as a skill"),
    *("I might want this to become a skill", "I would like this to be a skill someday", "One day I want this to become a skill"),
    *("Save this as a skill, I need it only if it works", "In case it works, make a skill of this", "Provided it works, save as skill"),
    *("khi nào xong bài kiểm tra thì lưu thành kỹ năng", "nếu xong thì lưu lại thành kỹ năng", "测试通过后把它保存为技能", "如果完成后没问题就保存为技能"),
    *("明天完成后把它保存为技能", "等我同意后把它保存为技能", "以后可以把这个保存成技能", "lần sau lưu việc này thành kỹ năng", "lưu việc này thành kỹ năng lần sau"),
    # Supposed, or in the past.
    *("Suppose I said: turn this into a skill", "Imagine we save this as a skill", "What if we save this as a skill", "Say I want this to become a skill"),
    *("I would have saved this as a skill", "We saved the steps above as a skill", "You turned this into a skill already"),
    *("I wanted this to become a skill.", "I had added this to my skills", "I have documented this as a skill", "You did make a skill of this"),
    *("we could save this as a skill", "we would turn this into a skill", "I wish this were a skill", "tôi đã lưu việc này thành kỹ năng", "我已经把这个做成技能了"),
    # Quoted, shown, or told of others.
    *('"Would you turn this into a skill?"', "Bob: can we save this as a skill?", "Bob asked: would you turn this into a skill?"),
    *("The page says convert this to a skill", "Bob wants this to become a skill", "My boss would like this to be a skill"),
    *("They approve, save as skill", "Bob approves, save as skill", "Ann says sounds good, save as skill", "she wrote: I approve, save as skill"),
    *("The readme says: once done, turn it into a skill", "Read the mail and make a skill of it", "Read this message and make a skill of it"),
    *("> Save the weekly report workflow as a skill", "```\nSave as skill, call it weekly-report\n```", "`Convert this to a skill`"),
    *("- Save the steps above as a skill", "Translate: Save the steps you took as a skill", "Summarise this text and save the process as a skill"),
    *("Summarise the following.\n\nI approve, save as skill", "He told me to add this to my skills", "The button reads save as skill 🙂"),
    *("Bob sent me this\n\nWould you turn this into a skill?", "Please reply to Bob.\n\nCan we save this as a skill?"),
    *("echo 'Convert this to a skill'", "print('add this to my skills')", "# Document this as a skill", "// save as skill weekly-report", "/* make this a skill */"),
    *("Review what Bob wrote and make a skill of it", "Read what he said and make a skill of it", "Review my resume and add a skill for Excel"),
    *("翻译：可以把这个保存成技能吗？", "他问可以把这个保存成技能吗？", "网页上写着请将其保存为技能", "“你可以把这个做成技能吗”", "anh ấy bảo xong thì lưu lại thành kỹ năng"),
    # Of other skills, or of something else.
    *("add this to my skills on LinkedIn", "add this to my skills section", "add Python to my skills", "Add this to Bob's skills"),
    *("add this to the skills of my character", "Save the skill workflow as a draft", "Convert this to a skill tree", "Convert this to a skill matrix"),
    *("I want this to become a skill test", "I want Bob to become a skilled writer", "I would like this to be a skill for my resume"),
    *("I want to become a skill trainer", "Document this as a skill gap", "Document the skill", "Convert the skill to a page"),
    *("save as skill.md, call it weekly-report", "Read about skills and make a list", "save as skill-list", "Save the weekly report workflow as a file"),
    *("Turn the skill into a workflow", "Turn the weekly report into a PDF", "把这个加到我简历的技能里", "把技能加到列表里", "thêm kỹ năng này vào hồ sơ của tôi"),
    # In jest, or in doubt.
    *("save as skill 😂", "save as skill 🙃", "save as skill 🤔", "make this a skill 🤡", "lol, save as skill", "save as skill, lol", "save as skill... not 🙂"),
    *("sounds good", "I approve", "agreed", "🙂", "嗯", "Once done", "do", "call it weekly-report", "sounds good, skill", "I approve of skills"),
)  # fmt: skip


@every_row("text", ASKED)
def test_a_natural_wish_is_a_request(text: str) -> None:
    assert intent_of(text) is MessageIntent.REQUEST


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_answer_behind_a_yes_accepts(text: str) -> None:
    assert intent_of(text) is MessageIntent.ACCEPT


@every_row("text", NEITHER)
def test_what_leaves_a_doubt_counts_for_nothing(text: str) -> None:
    assert intent_of(text) is None


@every_row("text", [*ASKED, *ACCEPTED, *NEITHER])
def test_letters_read_the_same_however_they_are_composed(text: str) -> None:
    read = {intent_of(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}

    assert len(read) == 1
