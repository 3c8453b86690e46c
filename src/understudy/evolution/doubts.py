"""Sentences beside which nothing counts as a wish: they ask something, or speak of another text.

Where a message has one of them, a wish in it may be what somebody else wrote: a mail that is to be
answered, a line to be mended. Nothing tells where such a text begins, so all of the message is in doubt.
"""

import re
from typing import Final

from understudy.evolution.requests.grammar import signs, words

# How a question begins that has no mark; `what a day` and `how nice` are none.
_ASKS: Final = re.compile(
    r"^\W*(?:(?:and|but|so|ok|okay|also|hi|hey|hello|well)\W+)*"
    r"(?:what(?! an? )|whats|why|who|whom|whose|where"
    r"|how(?! (?:nice|great|cool|lovely|neat|wonderful|awesome))"
    r"|(?:can|could|would|will|should|shall|may|does|did|is|are|was|were)(?:n['\u2019]?t)?"
    r" (?:i|you|we|they|he|she|it|this|that|these|those|there|the|any\w*|some\w*)"
    r"|(?:do|have|had)(?:n['\u2019]?t)? (?:i|you|we|they)"
    r"|tại sao|vì sao|làm sao|làm thế nào|khi nào)\b"
)
# How one ends in Vietnamese, and what makes one in Chinese.
_ASKS_VI: Final = re.compile(
    r"\b(?:gì|(?<!không )sao|thế nào|bao giờ|khi nào|ở đâu|bao nhiêu|không|chưa|hả|nhỉ)\W*$"
)
_ASKS_ZH: Final = signs(
    *("[吗嗎呢]", "什么", "什麼", "怎么", "怎麼", "如何", "为何", "為何", "哪", "谁", "誰", "是不是", "能不能"),
    *("可不可以", "是否", "多少", "几个", "幾個"),
)  # fmt: skip
# What is written, and what is written on.
_TEXTS: Final = words(
    *("e-?mails?", "mails?", "messages?", "letters?", "sms", "tweets?", "posts?", "comments?", "articles?", "blogs?"),
    *("pages?", "web ?pages?", "web ?sites?", "sites?", "texts?", "paragraphs?", "sentences?", "phrases?", "lines?"),
    *("quotes?", "snippets?", "strings?", "transcripts?", "outputs?", "logs?", "traces?", "tracebacks?", "documents?"),
    *("prompts?", "tickets?", "feedback", "notes?(?! that)", "todo", "files?(?:['\u2019]s)? contents?", "contents? of"),
    *("screenshots?", "screens?", "dialogs?", "pop-?ups?", "buttons?", "banners?", "links?", "menus?"),
    *("typos?", "spelling", "grammar", "wording", "dear", "regards", "sincerely"),
)  # fmt: skip
_TEXTS_VI: Final = words(
    *("thư(?! mục| viện)", "tin nhắn", "lời nhắn", "thông báo", "trang", "bài viết", "bài báo", "bài đăng", "câu"),
    *("bình luận", "văn bản", "đoạn", "dòng", "chữ", "trích dẫn", "đầu ra", "nhật ký", "nội dung", "tài liệu", "nút"),
    *("màn hình", "ảnh chụp", "lỗi chính tả", "kính gửi", "trân trọng"),
)  # fmt: skip
_TEXTS_ZH: Final = signs(
    *("邮件", "郵件", "电邮", "信件", "短信", "简讯", "簡訊", "消息", "讯息", "訊息", "信息", "网页", "網頁", "网站", "網站"),
    *("页面", "頁面", "文章", "帖子", "评论", "評論", "文本", "文字", "文档", "文檔", "段落", "[这這那一]段", "句子", "[这這那一]句"),
    *("句话", "句話", "[这這那一]行", "引文", "日志", "日誌", "输出", "輸出", "内容", "內容", "按钮", "按鈕", "链接", "連結"),
    *("菜单", "選單", "截图", "截圖", "屏幕", "螢幕", "错别字", "錯別字", "聊天记录", "聊天記錄", "尊敬的", "此致"),
    *("语法", "語法", "拼写", "拼寫", "措辞", "措辭"),
)  # fmt: skip
# What somebody got from elsewhere, points at, or wants put into other words.
_SHOWN: Final = words(
    "(?:got|get|received|found|saw|read|see|copied|pasted) (?:this|that|these|the following)",
    *("sent (?:me|us|this)", "forwarded", "fwd", "look at", "(?:have|take) a look", "here(?:['\u2019]s| is| are)"),
    *("(?:reply|respond|answer) to", "answer (?:it|him|her|them|this|that)", "wrote", "writes?(?: to)? (?:me|us|you)"),
    *("(?:asks?|asked|tells?|told|wants) (?:me|us|you|for|an?)", "(?:correct|edit) (?:this|the|my|it)"),
    *("rewrite", "rephrase", "reword", "shorten", "polish", "proofread"),
    *("nhận được", "gửi cho (?:tôi|mình)", "chuyển tiếp", "xem này", "nhìn này", "sửa lỗi", "viết lại", "rút gọn"),
    *("chỉnh lại", "trả lời (?:nó|họ|anh ấy|cô ấy)"),
)  # fmt: skip
_SHOWN_ZH: Final = signs(
    *("收到", "发给我", "發給我", "寄给我", "寄給我", "转发", "轉發", "看看[这這]", "看一下", "回复", "回覆"),
    *("润色", "潤色", "改写", "改寫", "校对", "校對"),
)  # fmt: skip
# Alone on a line: the head of a mail, its first words, or its last.
_OF_MAILS: Final = re.compile(
    r"^\W*(?:from|to|subject|re|fw|cc|date|best|cheers|love|(?:hi|hello|hey) \w+)\W*$"
)
DOUBTFUL: Final = (
    *(re.compile(r"\?"), _ASKS, _ASKS_VI, _ASKS_ZH),
    *(_TEXTS, _TEXTS_VI, _TEXTS_ZH, _SHOWN, _SHOWN_ZH, _OF_MAILS),
)


def leaves_doubt(sentence: str) -> bool:
    """Whether a plain sentence asks something, or speaks of a text that a wish may belong to."""
    return any(doubtful.search(sentence) for doubtful in DOUBTFUL)
