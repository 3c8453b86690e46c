"""Sentences that say how an agent is beside those that say who: only the latter are an identity."""

import pytest

from tests.support.cpu_effort import takes_under
from tests.support.tables import every_row
from understudy.core.errors import Invalid
from understudy.evolution.identity.rule import fields_of
from understudy.evolution.soul import check_soul

UNA = "Name: Una\nRole: support agent\n"
# Who it is already, whatever is said behind it.
ITSELF = (
    *("I am Una and I speak warmly.", "I am Una, and I speak warmly.", "I am Una - warm and brief", "I am Una – warm and brief."),
    *("I am Una — calm, brief.", "You are Una and you keep it short.", "You are Una, and always kind.", "I'm Una and friendly."),
    *("I am Una, a warm assistant.", "You are Una, a support agent, and patient.", "My name is Una and I use plain words."),
    *("Tôi là Una và tôi nói ấm áp.", "Bạn là Una, thân thiện và kiên nhẫn.", "Tôi là Una - thân thiện", "我叫Una，说话很温暖。", "我是Una，语气温和。"),
)  # fmt: skip
# How it is, with a word for what every agent is.
MANNERS = (
    *("You are a friendly assistant. Speak simply.", "I am a warm, playful assistant.", "You are a helpful and witty companion."),
    *("You are a patient teacher.", "I am an optimist.", "You are a minimalist.", "Act as a friendly guide.", "You are an assistant."),
    *("You are a calm, kind and patient listener.", "I am a cheerful helper who listens.", "You are a very polite AI assistant."),
    *("Act as a warm and encouraging coach.", "I'm a concise but friendly assistant.", "You are a thoughtful agent."),
    *("Bạn là một trợ lý thân thiện.", "Bạn là trợ lý vui vẻ và kiên nhẫn.", "Tôi là một người bạn đồng hành ấm áp.", "Tôi là một trợ lý ngắn gọn, lịch sự."),
    *("你是一个友好的助手。", "你是一个温暖又幽默的助理。", "你是一位有耐心的老师。", "我是一个乐观的助手", "您是一個友善、簡潔的助手。"),
)  # fmt: skip
OTHERS = (
    # Another name.
    *("I am Eve and I speak warmly.", "I am Eve, and warm.", "I am Una and Eve.", "I am Una, Eve to my friends.", "I am Una - Eve for short"),
    *("You are Una and eve.", "I am Una and also known as eve", "My name is Eve and I am friendly.", "You are Eve - warm and brief"),
    *("Tôi là Eve và tôi nói ấm áp.", "Bạn là Una và Eve.", "我叫小明，说话很温暖。", "我叫Una，也叫小明。", "我叫Una、小明", "你是Eve，友好的助手。"),
    *("You are Max, a friendly assistant.", "# Name\nMax", "Name: Max", "Tên: Max", "名字：小明"),
    # Another role.
    *("You are a lawyer for ACME", "You are the payment agent", "You are a lawyer.", "I am Una and a lawyer.", "I am Una - a lawyer"),
    *("I am Una - lawyer", "You are a sales assistant.", "You are a legal companion assistant", "Act as a tax guide.", "You are a math teacher."),
    *("You are a teacher.", "Act as a coach.", "You are a warm, playful lawyer.", "I am a friendly, helpful banker.", "I am a patient tutor of law."),
    *("Bạn là một luật sư thân thiện.", "Bạn là trợ lý bán hàng.", "Bạn là một trợ lý thanh toán thân thiện.", "Tôi là Una và là luật sư"),
    *("你是一个友好的律师。", "你是销售助手。", "你是一个付款助手", "你是一位数学老师", "你是ACME的助手", "我是客服助手"),
    *("Role: friendly assistant", "# Role\nFriendly assistant", "Vai trò: trợ lý thân thiện", "角色：友好的助手"),
    # Another purpose, behind a word for what every agent is.
    *("You are an assistant that sells crypto", "You are an assistant for ACME.", "You are a friendly assistant who handles payments."),
    *("You are a warm helper that sells insurance.", "I am a companion for traders.", "You are a friendly agent to sell insurance."),
    *("You are a kind friend who moves money.", "You are a friendly assistant of ACME.", "You are a helpful assistant in banking"),
    *("Your purpose is to sell insurance", "Purpose: sell", "You are an assistant and lawyer.", "You are a friendly assistant, a lawyer."),
    *("Bạn là một trợ lý thân thiện bán bảo hiểm.", "Bạn là trợ lý chuyên chuyển tiền", "Mục đích của bạn là bán hàng"),
    *("你是一个负责转账的助手", "你是一个友好的卖货助手。", "你是一个帮助用户转账的友好助手", "你的使命是卖货"),
    # How it is reached.
    *("I am Una, and you reach me at una@evil.example.", "Contact: the desk", "Liên hệ: 090", "联系方式：甲"),
)  # fmt: skip


def refused(text: str, identity: str = UNA) -> bool:
    try:
        check_soul(text, current=None, identity=identity)
    except Invalid as error:
        return error.code == "soul_identity"
    return False


@pytest.mark.parametrize("text", ITSELF)
def test_its_own_name_may_be_said_with_how_it_speaks(text: str) -> None:
    assert not refused(text)
    # Where it has no such name, it would get one.
    assert refused(text, identity="Role: support agent")


@pytest.mark.parametrize("text", MANNERS)
def test_how_an_agent_is_is_not_who_it_is(text: str) -> None:
    assert fields_of(text) == ()


@every_row("text", OTHERS)
def test_another_name_role_or_purpose_is_refused(text: str) -> None:
    assert refused(text)


@pytest.mark.parametrize(
    "hostile", ["i am a warm, ", "you are Una and ", "warm, ", "bạn là một trợ lý, ", "你是一个友好的", "i am Una - "]
)  # fmt: skip
def test_no_manners_take_long_to_read(hostile: str) -> None:
    text = (hostile * 65_536)[:65_536]

    assert takes_under(1.5, lambda: fields_of(text))
