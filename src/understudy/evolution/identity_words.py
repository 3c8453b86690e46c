"""The words by which a text says who an agent is, in the languages that we speak."""

from collections.abc import Mapping
from typing import Final

# The labels and headings of what SOUL.md may not set, by what they say.
FIELD_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "name": (
        *("name", "nickname", "tên", "họ tên", "họ và tên", "tên gọi", "biệt danh"),
        *("tên đầy đủ", "名字", "姓名", "名称", "名稱", "昵称", "暱稱"),
    ),
    "role": (
        *("role", "job title", "occupation", "profession"),
        *("vai trò", "chức danh", "chức vụ", "nghề nghiệp", "角色", "职位", "職位", "职务", "職務", "岗位", "職業", "职业"),
    ),
    "purpose": (
        *("purpose", "mission", "objective", "mandate", "responsibilities", "responsibility"),
        *("mục đích", "sứ mệnh", "nhiệm vụ", "trách nhiệm", "目的", "宗旨", "使命", "任务", "任務", "职责", "職責"),
    ),
    "contact": (
        *("contact", "contacts", "contact information", "contact info", "contact details"),
        *("contact data", "email", "e-mail", "email address", "e-mail address", "mail", "phone"),
        *("phone number", "telephone", "tel", "mobile", "website", "homepage"),
        *("liên hệ", "thông tin liên hệ", "điện thoại", "số điện thoại", "thư điện tử", "hộp thư"),
        *("联系", "联系方式", "聯繫方式", "聯絡方式", "联系人", "电话", "電話", "手机", "手機", "邮箱", "郵箱"),
        *("电子邮件", "電子郵件", "电邮", "邮件", "网站", "網站"),
    ),
    "identity": (
        *("identity", "who you are", "who i am", "danh tính", "bạn là ai", "身份", "你是谁", "我是谁"),
    ),
}  # fmt: skip

_REST: Final = r"(?P<value>[^.;!?\n\u3002]{1,200})"
# The same in a sentence.
SENTENCES: Final = (
    ("name", rf"\b(?:your|my)(?: new| full| real)? name (?:is|will be|shall be|should be)(?: now)? {_REST}"),
    ("name", rf"\b(?:call|name) yourself {_REST}"),
    ("name", rf"\byou are (?:now )?(?:called|named) {_REST}"),
    ("name", rf"\b(?:tên (?:của )?(?:bạn|tôi|mình) là|bạn tên là|tôi tên là) {_REST}"),
    ("name", rf"(?:[你我您]的?(?:新)?(?:名字|姓名)(?:是|叫)|(?<!\\w)[你您]叫做?(?!他|她|它|用户|用戶|对方|對方|大家|别人)){_REST}"),
    ("role", rf"\b(?:your|my)(?: new| core| main)? (?:role|job) (?:is|will be)(?: now)? {_REST}"),
    ("role", rf"\bvai trò (?:của )?(?:bạn|tôi|mình) là {_REST}"),
    ("role", rf"[你我您]的?(?:角色|职位|職位|职务|職務)是{_REST}"),
    ("purpose", rf"\b(?:your|my)(?: new| core| main| sole)? (?:purpose|mission) (?:is|will be)(?: now)? {_REST}"),
    ("purpose", rf"\b(?:mục đích|sứ mệnh|nhiệm vụ) (?:của )?(?:bạn|tôi|mình) là {_REST}"),
    ("purpose", rf"[你我您]的?(?:目的|使命|宗旨|任务|任務|职责|職責)是{_REST}"),
)  # fmt: skip
