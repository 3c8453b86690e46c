"""The words by which a label says who an agent is, in the languages that we speak."""

from collections.abc import Mapping
from typing import Final

# The labels and headings of what SOUL.md may not set, by what they say.
FIELD_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("name", "nickname", "codename", "alias", "aka", "a k a", "surname"),
    "role": ("role", "job", "title", "job title", "occupation", "profession", "position"),
    "purpose": (
        *("purpose", "mission", "mandate", "objective", "objectives", "goal", "goals", "aim", "aims"),
        *("responsibilities", "responsibility", "duty", "duties"),
    ),
    "contact": (
        *("contact", "contacts", "contact information", "contact info", "contact details", "contact data"),
        *("email", "email address", "mail", "phone", "phone number"),
        *("telephone", "tel", "mobile", "cell", "fax", "hotline", "website", "homepage"),
        *("url", "whatsapp", "telegram", "wechat", "zalo", "skype", "signal", "slack", "discord", "facebook"),
        *("instagram", "linkedin", "twitter"),
    ),
    "identity": ("identity", "persona", "who you are", "who i am", "who are you", "who am i"),
}  # fmt: skip
FIELD_WORDS_VI: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("tên", "họ tên", "họ và tên", "tên gọi", "biệt danh", "bí danh", "tên đầy đủ"),
    "role": ("vai trò", "chức danh", "chức vụ", "nghề nghiệp", "công việc"),
    "purpose": ("mục đích", "sứ mệnh", "nhiệm vụ", "trách nhiệm", "mục tiêu"),
    "contact": (
        *("liên hệ", "liên lạc", "thông tin liên hệ", "điện thoại", "số điện thoại", "thư điện tử"),
        *("hộp thư", "sđt", "địa chỉ email", "trang web"),
    ),
    "identity": ("danh tính", "bạn là ai", "tôi là ai"),
}  # fmt: skip
FIELD_WORDS_ZH: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("名", "名字", "姓名", "名称", "名稱", "昵称", "暱稱", "别名", "別名", "代号", "代號"),
    "role": (
        *("角色", "职位", "職位", "职务", "職務", "岗位", "崗位", "職業", "职业", "头衔", "頭銜", "工作"),
    ),
    "purpose": ("目的", "宗旨", "使命", "任务", "任務", "职责", "職責", "目标", "目標"),
    "contact": (
        *("联系", "聯繫", "联系方式", "聯繫方式", "聯絡方式", "联系人", "聯絡人", "电话", "電話", "手机", "手機"),
        *("邮箱", "郵箱", "电子邮件", "電子郵件", "电邮", "電郵", "邮件", "郵件", "网站", "網站", "网址", "網址"),
        *("微信", "热线", "熱線"),
    ),
    "identity": ("身份", "身分", "你是谁", "你是誰", "我是谁", "我是誰"),
}  # fmt: skip

# Words that also say how one speaks: they set something only alone, or with words of one's own.
CAUTIOUS: Final = frozenset(
    {
        *FIELD_WORDS["contact"],
        *FIELD_WORDS_VI["contact"],
        *FIELD_WORDS_ZH["contact"],
        *("title", "job", "position", "alias", "objective", "objectives", "goal", "goals", "aim", "aims"),
        *("duty", "duties", "responsibility", "responsibilities", "persona"),
        *("mục tiêu", "công việc", "nhiệm vụ", "trách nhiệm"),
        *("名", "工作", "目标", "目標", "任务", "任務", "名称", "名稱"),
    }
)  # fmt: skip
# What may stand before and behind a word in its label and says only whose it is, or which.
OWN: Final = frozenset(
    ["your", "my", "our", "its", "the", "this", "a", "an", "agent", "agents", "bot", "bots", "assistant", "assistants", "ai", "model", "new", "full", "display", "core", "main", "primary", "real", "true", "actual", "only", "sole", "current", "official", "first", "last", "second", "other", "public", "work", "office", "business", "private", "personal", "direct", "home", "support", "preferred", "correct", "updated", "changed", "secret", "hidden", "ultimate", "overall", "general", "company", "team"]
)  # fmt: skip
BEHIND: Final = OWN | frozenset(
    ["now", "today", "us", "me", "no", "nr", "num", "number", "numbers", "details", "info", "information", "data", "address", "is", "are", "be", "will", "shall", "from", "on", "for", "here", "below", "update", "change", "of", "yours", "mine", "to", "use", "you", "i", "we", "go", "by", "again", "instead", "henceforth", "officially", "and", "or", "short"]
)  # fmt: skip
OWN_VI: Final = frozenset(
    ["của", "bạn", "tôi", "mình", "chúng", "ta", "em", "với", "mới", "chính", "hiện", "tại", "tác", "nhân", "trợ", "lý", "số", "cốt", "lõi", "nay", "bây", "giờ", "thật", "đầy", "đủ", "duy", "nhất", "là"]
)  # fmt: skip
OWN_ZH: Final = "(?:你|我|您|它|本|的|新|主要|核心|真实|真實|现在|現在|目前|公司|官方|唯一|个人|個人|智能体|助手|助理)*"
# Somebody or something else, whose name and role an agent may speak of.
OTHERS: Final = frozenset(
    ["user", "users", "their", "his", "her", "people", "peoples", "person", "persons", "customer", "customers", "client", "clients", "someone", "someones", "somebody", "everyone", "anyone", "reader", "readers", "visitor", "visitors", "guest", "guests", "sender", "file", "skill", "tool", "variable", "function", "class", "field", "column", "table", "chart", "page", "section", "document", "project", "product", "brand", "host", "domain", "path", "image", "book", "each", "every", "any", "no", "use", "say", "give", "ask", "greet", "mention", "soul"]
)  # fmt: skip
OTHERS_VI: Final = frozenset(
    ["người", "dùng", "khách", "hàng", "họ", "ai", "tệp", "file", "riêng", "biến"]
)
OTHERS_ZH: Final = (
    "用户|用戶|客户|客戶|对方|對方|他|她|别人|別人|读者|讀者|文件|变量|變量|项目|產品|产品|称呼"
)
# Before a word: then it is the way of something, not its name.
WAYS: Final = frozenset(
    [
        "by",
        "in",
        "on",
        "for",
        "with",
        "via",
        "at",
        "per",
        "from",
        "about",
        "of",
        "without",
        "over",
        "under",
        "and",
    ]
)
# Behind a word in a heading: then the two are one idea.
COMPOUNDS: Final = frozenset(
    [
        "play",
        "playing",
        "plays",
        "player",
        "model",
        "models",
        "dropping",
        "calling",
        "tag",
        "tags",
        "day",
        "days",
        "of",
        "in",
        "for",
        "on",
        "with",
        "when",
        "use",
        "usage",
        "style",
        "styles",
        "tone",
        "rules",
        "habits",
        "etiquette",
        "matters",
    ]
)
