"""Words that two Vietnamese texts have in common."""

import unicodedata

import pytest

from understudy.retrieval.syllables import shares_word

COFFEE = "Cà phê tôi thích cho thêm sữa."


@pytest.mark.parametrize(
    ("query", "content", "shared"),
    [
        ("Pha cà phê cho khách", COFFEE, True),
        ("Cà chua bao nhiêu tiền?", COFFEE, False),
        ("Đội nào giành chiến thắng?", "Tháng Năm chuyển hết sang MySQL", False),
        ("Cài MySQL lên máy chủ thế nào?", "Tháng Năm chuyển hết sang MySQL", True),
        # Without accents nobody knows which syllables they are.
        ("pha ca phe cho khach", COFFEE, True),
        ("How do I make coffee?", COFFEE, True),
        ("怎么泡咖啡？", COFFEE, True),
    ],
)
def test_one_syllable_in_common_is_no_word_in_common(
    query: str, content: str, *, shared: bool
) -> None:
    for form in ("NFC", "NFD"):
        assert shares_word(unicodedata.normalize(form, query), content) == shared


def test_a_subject_of_one_syllable_is_a_word() -> None:
    assert shares_word("Nên uống trà gì?", "Tôi thích trà xanh", "trà")
    assert not shares_word("Nên uống trà gì?", "Tôi thích trà xanh", "xanh")
