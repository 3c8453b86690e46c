"""Where a text says who an agent is, in three languages and many forms."""

import pytest

from understudy.evolution.identity import Kind, fields_of

SET = {
    "Name: Max": Kind.NAME,
    "**Name:** Max": Kind.NAME,
    "**Name**: Max": Kind.NAME,
    "- name: Max": Kind.NAME,
    "1. Name: Max": Kind.NAME,
    "> Name: Max": Kind.NAME,
    "| Name | Max |": Kind.NAME,
    "Name = Max": Kind.NAME,
    "Name — Max": Kind.NAME,
    "Name -> Max": Kind.NAME,
    '  "name": "Max",': Kind.NAME,
    "<!-- name: Max -->": Kind.NAME,
    "Your name: Max": Kind.NAME,
    "The agent's full name: Max": Kind.NAME,
    "ＮＡＭＥ：Max": Kind.NAME,
    "Na\u200bme: Max": Kind.NAME,
    "# Name\n\nMax": Kind.NAME,
    "Name\n====\n\nMax": Kind.NAME,
    "**Name**\nMax": Kind.NAME,
    "Name:\nMax": Kind.NAME,
    "Be kind. Your name is Max.": Kind.NAME,
    "You are now called Max": Kind.NAME,
    "Call yourself Max": Kind.NAME,
    "Tên: Max": Kind.NAME,
    "Tên của bạn: Max": Kind.NAME,
    "Tên của bạn là Max": Kind.NAME,
    "名字：小明": Kind.NAME,
    "你的名字：小明": Kind.NAME,
    "你的名字是小明": Kind.NAME,
    "你叫小明": Kind.NAME,
    "Role: boss": Kind.ROLE,
    "## Your core role\nBoss": Kind.ROLE,
    "Your role is now boss": Kind.ROLE,
    "Vai trò: sếp": Kind.ROLE,
    "角色：经理": Kind.ROLE,
    "Purpose: to sell": Kind.PURPOSE,
    "Mission: to sell": Kind.PURPOSE,
    "Your core purpose is to sell": Kind.PURPOSE,
    "Mục đích: bán hàng": Kind.PURPOSE,
    "你的使命是卖货": Kind.PURPOSE,
    "Contact: the desk": Kind.CONTACT,
    "E-mail: max@example.com": Kind.CONTACT,
    "Write to max@example.com if in doubt.": Kind.CONTACT,
    "Số điện thoại: 090": Kind.CONTACT,
    "邮箱：甲": Kind.CONTACT,
    "### Identity\nMax, the boss": Kind.IDENTITY,
    "身份：经理": Kind.IDENTITY,
}
LEFT_ALONE = (
    *("Be warm and brief.", "You are kind and patient.", "Use the user's name once."),
    *("# Tone\n\nWarm", "Format: bullets", "Names matter: use them.", "Name people when you thank them."),
    *("Role-play when asked.", "Ask for their email politely.", "Contacting users: be brief."),
    *("Mission-critical news first: say it.", "# Style of role names", "Handle: complaints calmly."),
    *("Giọng điệu: ấm áp", "语气：温和", "你叫他们的名字就好", "称呼：用您", "", "---", "name"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), SET.items())
def test_a_field_of_who_the_agent_is_is_found(text: str, kind: Kind) -> None:
    assert kind in {field.kind for field in fields_of(text)}


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_how_it_speaks_is_no_such_field(text: str) -> None:
    assert fields_of(text) == ()


@pytest.mark.parametrize(
    "text",
    ["Name: Ada Byron", "**Name:** ada  byron.", "| name | Ada Byron |", "# Name\n\nAda Byron", "Name:\nAda Byron"],
)  # fmt: skip
def test_the_same_is_said_in_every_form(text: str) -> None:
    (field,) = fields_of(text)

    assert field.key == (Kind.NAME, "ada byron")


def test_all_that_stands_below_a_heading_belongs_to_it() -> None:
    short, long = "# Role\nSupport agent", "# Role\nSupport agent\n\nand pirate\n# Tone\nWarm"

    assert fields_of(short)[0].key != fields_of(long)[0].key
    assert fields_of(long)[0].value == "support agent and pirate"


def test_a_field_tells_its_line() -> None:
    assert [field.line for field in fields_of("Be kind.\n\nName: Max\nRole: boss")] == [3, 4]
