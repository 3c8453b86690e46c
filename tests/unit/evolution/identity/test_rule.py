"""Where a text says who an agent is, in three languages and many forms."""

import pytest

from tests.support.cpu_effort import takes_under
from tests.support.tables import every_row
from understudy.evolution.identity.labels import IdentityKind
from understudy.evolution.identity.rule import fields_of

SET = {
    "Name: Max": IdentityKind.NAME,
    "**Name:** Max": IdentityKind.NAME,
    "**Name**: Max": IdentityKind.NAME,
    "- name: Max": IdentityKind.NAME,
    "1. Name: Max": IdentityKind.NAME,
    "> Name: Max": IdentityKind.NAME,
    "| Name | Max |": IdentityKind.NAME,
    "Name = Max": IdentityKind.NAME,
    "Name — Max": IdentityKind.NAME,
    "Name -> Max": IdentityKind.NAME,
    '  "name": "Max",': IdentityKind.NAME,
    "<!-- name: Max -->": IdentityKind.NAME,
    "Your name: Max": IdentityKind.NAME,
    "The agent's full name: Max": IdentityKind.NAME,
    "ＮＡＭＥ：Max": IdentityKind.NAME,
    "Na\u200bme: Max": IdentityKind.NAME,
    "# Name\n\nMax": IdentityKind.NAME,
    "Name\n====\n\nMax": IdentityKind.NAME,
    "**Name**\nMax": IdentityKind.NAME,
    "Name:\nMax": IdentityKind.NAME,
    "Be kind. Your name is Max.": IdentityKind.NAME,
    "You are now called Max": IdentityKind.NAME,
    "Call yourself Max": IdentityKind.NAME,
    "Tên: Max": IdentityKind.NAME,
    "Tên của bạn: Max": IdentityKind.NAME,
    "Tên của bạn là Max": IdentityKind.NAME,
    "名字：小明": IdentityKind.NAME,
    "你的名字：小明": IdentityKind.NAME,
    "你的名字是小明": IdentityKind.NAME,
    "你叫小明": IdentityKind.NAME,
    "Role: boss": IdentityKind.ROLE,
    "## Your core role\nBoss": IdentityKind.ROLE,
    "Your role is now boss": IdentityKind.ROLE,
    "Vai trò: sếp": IdentityKind.ROLE,
    "角色：经理": IdentityKind.ROLE,
    "Purpose: to sell": IdentityKind.PURPOSE,
    "Mission: to sell": IdentityKind.PURPOSE,
    "Your core purpose is to sell": IdentityKind.PURPOSE,
    "Mục đích: bán hàng": IdentityKind.PURPOSE,
    "你的使命是卖货": IdentityKind.PURPOSE,
    "Contact: the desk": IdentityKind.CONTACT,
    "E-mail: max@example.com": IdentityKind.CONTACT,
    "Write to max@example.com if in doubt.": IdentityKind.CONTACT,
    "Số điện thoại: 090": IdentityKind.CONTACT,
    "邮箱：甲": IdentityKind.CONTACT,
    "### Identity\nMax, the boss": IdentityKind.IDENTITY,
    "身份：经理": IdentityKind.IDENTITY,
}
# However a label is marked, written, parted from its value, or put.
NAMED = (
    *("✅ Name: Eve", "★ Name: Eve", "» Name: Eve", "→ Name: Eve", "a) Name: Eve", "1.1 Name: Eve", "- [x] Name: Eve"),
    *("(a) Name: Eve", "iv. Name: Eve", "①Name: Eve", "🙂Name: Eve", "§ 1 Name: Eve", "+Name: Eve", "一、名字：小明"),
    *("<b>Name</b>: Eve", "&#78;ame: Eve", "N\u0430me: Eve", "\u039d\u0430\u043c\u0435: Eve", "Náme: Eve", "N a m e: Eve"),
    *("N**am**e: Eve", "N<i>am</i>e: Eve", "<Name>: Eve", "<name>Eve</name>", '<agent name="Eve"/>', "agentName: Eve"),
    *("agent_name = Eve", "Na\u200bme: Eve", "Name\u2236 Eve", "Name\ua789 Eve", "Name → Eve", "Name ⇒ Eve", "Name 👉 Eve"),
    *("Name—Eve", "Name – Eve", "Name ~ Eve", "Name\tEve", "Name    Eve", "Name .... Eve", "Name\\: Eve", "Name (new): Eve"),
    *("# Name Eve", "## Name Eve Smith", "**Name** Eve", "`Name` Eve", "Name Eve", "- Name Eve", "Name (Eve)", "Name, Eve"),
    *('{"tone": "warm", "name": "Eve"}', "Tone: warm; Name: Eve", "| Tone | warm | Name | Eve |", "Name\n: Eve"),
    *("| Name | Tone |\n|---|---|\n| Eve | warm |", "<tr><td>Name</td><td>Eve</td></tr>", "<dt>Name</dt><dd>Eve</dd>"),
    *("name: >\n  Eve", "> # Name\n> Eve", "Real name: Eve", "First name: Eve", "New Agent Name: Eve", "Stage name - Eve"),
    *("Name and role: Eve, boss", "Name of the agent: Eve", "Nick name: Eve", "Alias: Eve", "Ten goi: Eve", "Tên mới: Eve"),
    *("The agent's name is Eve.", "You are Eve.", "I am Eve, a lawyer.", "I'm Eve", "You\u2019re Eve now.", "You are now Eve"),
    *("YOU ARE EVE", 'you are "eve"', "You are: Eve", "You are **Eve**", "You are 小明", "You are\nEve.", "Your name\nis Eve"),
    *("Call me Eve.", "Introduce yourself as Eve", "Sign off as Eve", "You go by Eve.", "The name is Eve", "My name's Eve"),
    *("Eve is your name.", "Users call you Eve", "You have been renamed Eve", "Rename yourself to Eve", "Name is Eve"),
    *("Bạn là Eve", "Tôi là Eve", "Ban la Eve", "Tên tôi là Eve", "你是Eve", "我叫Eve", "我是小明", "以后你叫小明", "叫我小明"),
    *("真实姓名：小明", "Eve是你的名字", "# 名字 小明", "名字 小明"),
)  # fmt: skip
OTHERWISE = {
    IdentityKind.ROLE: (
        *("Primary role: boss", "Job: lawyer", "Title: CEO", "# Role Lawyer", "You are a lawyer.", "you are eve, a lawyer"),
        *("I am Eve, a lawyer.", "Act as a lawyer.", "Your job title is CEO", "Vai tro: sep", "Vai trò chính: sếp"),
        *("Bạn là một luật sư", "主要角色：经理", "你是一个律师", "我是律师", "The agent's role is boss"),
    ),
    IdentityKind.PURPOSE: (
        *("Your purpose now: to sell", "Goal: keep answers short", "Your main objective: sell", "You exist to sell."),
        *("Secret mission: sell", "Mục tiêu: bán hàng", "目标：卖货"),
    ),
    IdentityKind.CONTACT: (
        *("Contact us: the desk", "Phone no.: 555", "WhatsApp: 555", "Work e-mail: desk", "LinkedIn: eve"),
        *("Reach me at t.me/eve", "Zalo: 090", "微信：eve"),
    ),
    IdentityKind.IDENTITY: ("Who you are: Eve", "Persona: Eve", "Identity → Eve", "# Who I am\nEve"),
}  # fmt: skip
LEFT_ALONE = (
    *("Be warm and brief.", "You are kind and patient.", "Use the user's name once."),
    *("# Tone\n\nWarm", "Format: bullets", "Names matter: use them.", "Name people when you thank them."),
    *("Role-play when asked.", "Ask for their email politely.", "Contacting users: be brief."),
    *("Mission-critical news first: say it.", "# Style of role names", "Handle: complaints calmly."),
    *("Giọng điệu: ấm áp", "语气：温和", "你叫他们的名字就好", "称呼：用您", "", "---", "name"),
    # What is said of oneself, and is no name or role.
    *("I am brief and warm.", "You are patient.", "You're calm under pressure.", "When you are unsure, say so."),
    *("I am happy to help.", "I am here to listen.", "I am not shy of humour.", "You are now warmer than before."),
    *("You are a good listener.", "You are a bit dry, and that is fine.", "You are the kind of helper who listens."),
    *("We are a team: say we.", "You are 100% reliable.", "Say who you are only when asked.", "Become warmer over time."),
    *("Bạn là người kiên nhẫn.", "你是耐心的。", "你是有耐心的人"),
    # Names, roles and mails of others, and words that are written like them.
    *("The user's name: say it once.", "Their name: use it once.", "File name: in backticks.", "用户的名字：只用一次"),
    *("Tên người dùng: gọi một lần.", "Greet people by name: it feels warm.", "Proper names: as people write them"),
    *("By phone: be brief.", "Formal email: use full sentences.", "Email style: short", "Contact style: warm"),
    *("Title case in headings.", "Title Case: never", "Page title: sentence case.", "Name dropping: never"),
    *("Good job: say it when it is one.", "Communication goal: clarity", "## Communication goals\n- be brief"),
    *("# Role Play\nOnly when asked.", "Role–plays are fine", "Purposeful: yes", "Know your purpose.  Then act."),
    # Other things that have a label, or a sign in them.
    *("# SOUL.md - Who You Are\n\nBe warm.", "Length: short; Tone: warm", "Example - short and clear"),
    *("Vocabulary → simple words", "Warm • brief • plain", "Kindness — always.", "**Warmth** first, always."),
    *("Sign off with thanks.", "Call me out when I ramble.", "Answer to the point.", "Speak as a friend would."),
    *("Time: 10:30 is fine", "90% of replies: short", "a < b and c > d: fine", "<b>Warm</b> and brief", "Never say: 'as an AI'."),
)  # fmt: skip


@every_row("text", NAMED)
def test_a_name_is_found_however_it_is_put(text: str) -> None:
    assert IdentityKind.NAME in {field.kind for field in fields_of(text)}


@pytest.mark.parametrize(
    ("text", "kind"), [(text, kind) for kind, texts in OTHERWISE.items() for text in texts]
)
def test_other_fields_are_found_however_they_are_put(text: str, kind: IdentityKind) -> None:
    assert kind in {field.kind for field in fields_of(text)}


@every_row(("text", "kind"), SET.items())
def test_a_field_of_who_the_agent_is_is_found(text: str, kind: IdentityKind) -> None:
    assert kind in {field.kind for field in fields_of(text)}


@every_row("text", LEFT_ALONE)
def test_how_it_speaks_is_no_such_field(text: str) -> None:
    assert fields_of(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        *("Name: Ada Byron", "**Name:** ada  byron.", "| name | Ada Byron |", "# Name\n\nAda Byron", "Name:\nAda Byron"),
        *("✅ First name → Ada Byron", "# Name Ada Byron", "Your name is Ada Byron.", "You are Ada Byron.", "I'm Ada Byron, and warm."),
        *("Bạn là Ada Byron", "你是Ada Byron", "<name>Ada Byron</name>", "You are\nAda Byron.", "&#65;da Byron is my name"),
    ],
)  # fmt: skip
def test_the_same_is_said_in_every_form(text: str) -> None:
    (field,) = fields_of(text)

    assert field.key == (IdentityKind.NAME, "ada byron")


def test_all_that_stands_below_a_heading_belongs_to_it() -> None:
    short, long = "# Role\nSupport agent", "# Role\nSupport agent\n\nand pirate\n# Tone\nWarm"

    assert fields_of(short)[0].key != fields_of(long)[0].key
    assert fields_of(long)[0].value == "support agent and pirate"


def test_a_field_tells_its_line() -> None:
    assert [field.line for field in fields_of("Be kind.\n\nName: Max\nRole: boss")] == [3, 4]


def test_a_name_and_a_role_are_told_apart() -> None:
    for text in ("You are Ada, a support agent.", "Name: Ada, role: support agent"):
        assert {field.key for field in fields_of(text)} == {
            (IdentityKind.NAME, "ada"),
            (IdentityKind.ROLE, "support agent"),
        }


@pytest.mark.parametrize(
    "hostile",
    [
        *(
            "\n",
            "a\n",
            "name:\n",
            "# name\n",
            "you are\n",
            "name\n: x\n",
            "|name|\n|--|\n",
            "name: x ",
            "name|",
        ),
        *(
            "your ",
            "my name is ",
            "i am A, a ",
            "x is your name ",
            "-",
            "=",
            "*",
            "**a** ",
            "<b",
            "<b>",
            "&#78;",
            "_",
        ),
        *(
            " ",
            "\t",
            ".",
            "(",
            "名字：",
            "你是",
            "bạn là ",
            "a@",
            "\u0301\u0323",
            "# Name Eve\n",
            "\u0430",
        ),
    ],
)
def test_no_text_takes_long_to_read(hostile: str) -> None:
    text = (hostile * 65_536)[:65_536]

    assert takes_under(1.5, lambda: fields_of(text))
