"""Which language a run speaks, and what of that is part of the request."""

from dataclasses import replace

import pytest

from tests.support.factories import ALICE
from understudy.runs.submission import Submission, language_of, request_json


@pytest.mark.parametrize(
    ("locale", "header", "spoken"),
    [
        *[(None, None, None), ("vi-VN", None, "vi"), ("ZH", "vi", "zh"), ("tlh", "vi", "en")],
        *[(None, "fr, zh-CN;q=0.7, en;q=0.5", "zh"), ("", "vi", "vi"), (None, "*", None)],
        *[(None, "fr", None), (None, ";;,,=\x00", None), ("\ud83d" * 40, "vi", "en")],
    ],
)
def test_what_is_asked_for_counts_before_what_the_caller_reads(
    locale: str | None, header: str | None, spoken: str | None
) -> None:
    asked = Submission(content="hi", locale=locale, accept_language=header)

    assert language_of(asked, ALICE) == spoken
    # Their token comes last.
    assert language_of(asked, replace(ALICE, locale="zh")) == (spoken or "zh")


def test_a_header_does_not_make_a_repeat_another_request() -> None:
    plain = request_json(Submission(content="hi"))

    assert request_json(Submission(content="hi", accept_language="vi")) == plain
    # As it was before there were languages, or the keys of an older version would not be known.
    assert not {"locale", "accept_language"} & set(plain)
    assert request_json(Submission(content="hi", locale="vi")) != plain
