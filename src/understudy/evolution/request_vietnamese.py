"""How people ask for a skill in Vietnamese."""

import re
from typing import Final

from understudy.evolution.request_grammar import Grammar, words

_THING: Final = (
    r"(?:nó|tất cả|việc|(?:(?:tất cả )?(?:quy trình|cách làm|công việc|các bước|những bước|phiên"
    r"|phương pháp|điều|cái|thứ)))(?: (?:vừa rồi|vừa làm|vừa xong|này|đó|trên))?"
    r"|(?:này|đó)|những gì (?:bạn|ta|chúng ta|mình)(?: vừa| đã)? làm"
)
_ONE: Final = r"(?:một |1 )?(?:kỹ|kĩ) năng(?: mới)?"
_KEEP: Final = r"(?:lưu|giữ|ghi|chuyển|biến|đóng gói|làm)(?: lại)?"
_MAKE: Final = r"(?:tạo|viết|lập|xây dựng|soạn)(?: ra| giúp(?: tôi| mình)?| cho (?:tôi|mình))?"
VIETNAMESE: Final = Grammar(
    blank=" ",
    about=("kỹ năng", "kĩ năng"),
    leads=(
        *("hãy", "làm ơn", "xin", "vui lòng", "ok", "okay", "được", "được rồi", "vâng", "dạ", "ừ"),
        *("tốt", "tốt lắm", "tuyệt", "tuyệt vời", "hay lắm", "cảm ơn", "cám ơn", "cảm ơn bạn", "bạn"),
        *("tôi muốn", "mình muốn", "giúp tôi", "giúp mình", "giờ", "bây giờ", "rồi", "và", "nhờ bạn"),
        *("vậy", "vậy thì", "thế thì", "có", "em", "anh"),
    ),
    modals=("có thể(?: giúp(?: tôi| mình)?)?",),
    asks=(
        rf"{_KEEP}(?: (?:{_THING}))?(?: lại)? (?:thành|làm|dưới dạng|như) {_ONE}",
        rf"(?:{_MAKE}|lưu(?: lại)?) {_ONE}",
    ),
    connectors=(
        *("từ", "cho", "tên", "tên là", "có tên", "gọi là", "với", "để", "về", "dựa trên", "và"),
        *("theo", "dùng"),
    ),
    polite=(
        *("nhé", "nha", "đi", "ạ", "giúp tôi", "giúp mình", "cho tôi", "cho mình", "ngay", "luôn"),
        *("cảm ơn", "cám ơn", "cảm ơn bạn", "này", "đó"),
    ),
    soft_questions=("được không", "được chứ"),
    particles=("không",),
    definite=words("này", "đó", "nó", "vừa", "tên", "gọi là", "những gì"),
    vetoes=words(
        *("không", "chưa", "đừng", "chớ", "chẳng", "khỏi", "nếu", "khi", "sau khi", "trước khi"),
        *("lúc", "hoặc", "hay là", "gì", "sao", "thế nào", "nghĩa", "mai", "lần sau", "sau này"),
        *("có lẽ", "nói", "bảo", "ví dụ", "giả sử", "mềm", "sống", "giao tiếp", "hồ sơ", "cv"),
        *("nhưng", "game", "nhân vật", "đùa", "phải", "bỏ qua"),
    ),
    cancels=re.compile(
        r"(?:không|thôi|khoan|đừng|bỏ qua|à mà|hủy|huỷ|quên đi|đùa|chờ đã|chưa)\b"
    ),
)  # fmt: skip
