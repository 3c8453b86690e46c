"""How people ask for a skill in Vietnamese."""

import re
from typing import Final

from understudy.evolution.asking.grammar import JOINT, SMILES, Grammar, signs, words

_THING: Final = (
    r"(?:nó|tất cả|việc|(?:(?:tất cả )?(?:quy trình|cách làm|công việc|các bước|những bước|phiên"
    r"|phương pháp|điều|cái|thứ)))(?: (?:vừa rồi|vừa làm|vừa xong|này|đó|trên"
    r"|(?:bạn|ta|chúng ta|mình)(?: vừa| đã)? (?:làm|thực hiện)))?"
    r"|(?:quy trình|cách làm|các bước)"
    r"(?: (?!(?:thành|làm|dưới|như|của|từ|cho|là|ở|trong|trên|vào|và|nào|ai|bao)\b)[^ ,]+){1,4}"
    r"|(?:này|đó)|những gì (?:bạn|ta|chúng ta|mình)(?: vừa| đã)? làm"
)
_ONE: Final = r"(?:một |1 )?(?:kỹ|kĩ) năng(?: mới)?"
_KEEP: Final = r"(?:lưu|giữ|ghi|chuyển|biến|đóng gói|làm)(?: lại)?"
_MAKE: Final = r"(?:tạo|viết|lập|xây dựng|soạn)(?: ra| giúp(?: tôi| mình)?| cho (?:tôi|mình))?"
# Work that somebody gives an agent to do; nothing that is told, asked or shown.
_DO: Final = (
    r"(?:dọn|dọn dẹp|sửa|chạy|làm|sắp xếp|cập nhật|kiểm tra|hoàn thành|xây dựng|triển khai|cài đặt"
    r"|chuẩn bị|đổi tên|di chuyển|thêm|tạo|viết)"
)
# What a skill does; to speak or to lead are no skills of ours.
_DOES: Final = (
    r"(?:viết|soạn|tạo|báo cáo|kiểm tra|dọn|sắp xếp|tổng hợp|tóm tắt|phân tích|gửi|đọc|dịch|tìm|lấy"
    r"|cập nhật|xử lý|chuẩn bị|triển khai|phát hành|giải thích|hướng dẫn|chạy|sửa|đổi tên|di chuyển)"
)
_NOT_OURS: Final = r"(?:mềm|sống|giao tiếp|hồ sơ|cv|game|nhân vật)"
# What ends a description, and is about the wish again.
_BACK: Final = (
    r"(?:nếu|nhưng|hoặc|hay là|(?<!để )lần sau|sau này|mai|có lẽ|bỏ qua|ví dụ|giả sử|đùa|đừng"
    r"|khi (?:xong|nào|bạn|rảnh)|sau khi (?:xong|bạn))"
)
_SAID: Final = rf"(?: (?!(?:{_BACK}|{_NOT_OURS})\b)[^ ,]+)"
VIETNAMESE: Final = Grammar(
    blank=" ",
    about=signs("k[ỹĩ] năng"),
    leads=(
        *("hãy", "làm ơn", "xin", "vui lòng", "ok", "okay", "được", "vâng", "dạ", "ừ"),
        *("tốt", "tốt lắm", "tuyệt", "tuyệt vời", "hay lắm", "cảm ơn", "cám ơn", "bạn"),
        *("tôi muốn", "mình muốn", "giúp tôi", "giúp mình", "giờ", "bây giờ", "rồi", "và", "nhờ bạn"),
        *("vậy", "vậy thì", "thế thì", "có", "em", "anh", "đồng ý"),
        # When the work of this run is done; nothing that may fail to come.
        *("xong thì", "làm xong thì", "xong việc thì", "khi xong", "khi xong thì", "sau khi xong"),
    ),
    tasks=(rf"{_DO}(?: [^ ,]+){{1,12}}(?: ,)? (?:rồi|sau đó|và|xong thì)(?: hãy)?",),
    modals=("có thể(?: giúp(?: tôi| mình)?)?",),
    asks=(
        rf"{_KEEP}(?: (?:{_THING}))?(?: lại)? (?:thành|làm|dưới dạng|như) {_ONE}",
        rf"(?:tôi|mình) muốn (?:{_THING}) (?:được lưu |được chuyển |trở )?thành {_ONE}",
        rf"thêm (?:{_THING}) vào (?:bộ |kho )?(?:kỹ|kĩ) năng của (?:bạn|tôi|mình)",
        rf"(?:{_MAKE}|lưu(?: lại)?) {_ONE}(?: [^ ,]*{JOINT})?",
    ),
    connectors=(
        *("từ", "cho", "tên", "tên là", "có tên", "gọi là", "với", "để", "về", "dựa trên", "và"),
        *("theo", "dùng", rf"{_DOES} [^ ,]+"),
    ),
    polite=(
        *("nhé", "nha", "đi", "ạ", "giúp tôi", "giúp mình", "cho tôi", "cho mình", "ngay", "luôn"),
        *("cảm ơn", "cám ơn", "cảm ơn bạn", "này", "đó"),
        *SMILES,
    ),
    soft_questions=("được không", "được chứ"),
    particles=("không",),
    definite=words("này", "đó", "nó", "vừa", "tên", "gọi là", "những gì", rf"năng (?:mới )?{_DOES} [^ ,]+"),
    describes=re.compile(
        rf"\b(?:để|tên là|có tên|tên|gọi là|{_DOES}|(?:cho|về|với)(?! {_THING}))\b{_SAID}+"
    ),
    vetoes=words(
        *("không", "chưa", "đừng", "chớ", "chẳng", "khỏi", "nếu", "khi", "sau khi", "trước khi"),
        *("lúc", "hoặc", "hay là", "(?<!những )gì", "sao", "thế nào", "nghĩa", "mai", "(?<!để )lần sau", "sau này"),
        *("có lẽ", "nói", "bảo", "ví dụ", "giả sử", "mềm", "sống", "giao tiếp", "hồ sơ", "cv"),
        *("nhưng", "game", "nhân vật", "đùa", "phải", "bỏ qua"),
    ),
    cancels=re.compile(
        r"(?:không|thôi|khoan|đừng|bỏ qua|à mà|hủy|huỷ|quên đi|đùa|chờ đã|chưa)\b"
    ),
)  # fmt: skip
