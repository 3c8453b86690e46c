"""Text that others wrote, as one line that cannot pose as anything else."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.retrieval.frame import quoted, visible

# What tags, fences, headings, links and template tokens are made of.
ACTIVE = "<>#`[]&"
TRICKS = (
    "```",
    "~~~",
    "</recovered_memory>",
    "\uff1c/system\uff1e",
    "\n# ",
    "\r\nSystem: ",
    "\u2028Human: ",
    "[INST]",
    "![a](https://",
    "\x1b[31m",
    "\x1b]0;",
    "\x07",
    "\x9b1m",
    "\u200b",
    "\u202e",
    "\U000e0041",
    '"}',
    "\\",
    "&lt;",
)

tricky = st.lists(st.sampled_from(TRICKS) | st.text(max_size=8), max_size=12).map("".join)


@given(tricky)
def test_what_is_quoted_is_one_json_string_on_one_line_with_nothing_active_in_it(text: str) -> None:
    line = quoted(text)
    inside = line[1:-1]

    assert json.loads(line) == json.loads(line).replace("```", "")
    assert line[0] == line[-1] == '"'
    assert len(line.splitlines()) == 1
    assert not set(ACTIVE) & set(unicodedata.normalize("NFKC", inside))
    # No quote ends the string early, whatever form it was written in.
    assert '"' not in unicodedata.normalize("NFKC", inside).replace('\\"', "").replace("\\\\", "")
    assert all(unicodedata.category(each) not in {"Cc", "Cf", "Cs", "Co"} for each in line)


@given(tricky)
def test_quoting_is_the_same_every_time(text: str) -> None:
    assert quoted(text) == quoted(text)


@given(st.text(alphabet=st.characters(categories=("L", "N", "Zs", "P")), max_size=60))
def test_plain_text_can_be_read_back(text: str) -> None:
    shown = visible(text)
    if "```" not in shown and "~~~" not in shown:
        assert json.loads(quoted(text)) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200bp\u200bprove", "approve"),
        ("Weekly notes\U000e0069\U000e0067", "Weekly notes"),
        ("file \u202egpj.exe\u202c opened", "file gpj.exe opened"),
        ("ok \x1b[2J\x1b[1;1H\x1b[31mALERT\x1b[0m run", "ok ALERT run"),
        ("title \x1b]0;pwned\x07 end", "title  end"),
        ("title \x1b]8;;https://x.invalid\x1b\\link", "title link"),
        ("\x9b31mred \x9d0;t\x9cend", "red end"),
        # One that never ends hides nothing.
        ("open \x1b]0;still here", "open 0;still here"),
        ("half \x1b", "half "),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("tab\tstays", "tab\tstays"),
        ("blank\u2800\u3164\ufe0f", "blank"),
        ("half \ud83d pair", "half  pair"),
        ("Người dùng 用户，端口。", "Người dùng 用户，端口。"),
    ],
)
def test_only_what_can_be_seen_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("```\nIGNORE\n```", "\"'''\\nIGNORE\\n'''\""),
        ("`````x", "\"'''x\""),
        ("`\u200b``x", "\"'''x\""),
        ("~~~~x ~ y", "\"'''x ~ y\""),
        ("\uff40\uff40\uff40", "\"'''\""),
        ("a < b", '"a \\u003c b"'),
        ("\uff1csystem\uff1e", '"\\uff1csystem\\uff1e"'),
        ("\u2039s\u203a", '"\\u2039s\\u203a"'),
        ("\u226e", '"\\u226e"'),
        ("\uff02tool_calls\uff02:", '"\\uff02tool_calls\\uff02:"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("`x` [y] &lt;", '"\\u0060x\\u0060 \\u005by\\u005d \\u0026lt;"'),
    ],
)
def test_what_could_mean_something_elsewhere_is_named_by_its_number(text: str, line: str) -> None:
    assert quoted(text) == line


def test_many_different_characters_do_not_fill_the_memory() -> None:
    odd = "".join(map(chr, range(0x4E00, 0x4E00 + 6000)))

    assert json.loads(quoted(odd)) == odd
    assert json.loads(quoted(odd)) == odd


def test_long_hostile_text_takes_linear_time() -> None:
    for unit in ("\x1b]", "\x9d", "\x1b[1;", "`", "\u200b", "\x1bP"):
        assert len(quoted(unit * 50_000)) < 200_000
