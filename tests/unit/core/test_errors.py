"""The table of error codes: complete in every language, and the same as what the code raises."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import understudy
from understudy.core.errors import (
    CLASSES,
    MAX_VALUE_CHARS,
    SHARED,
    Invalid,
    NotFound,
    coded_error,
    error_table,
    words_in,
)
from understudy.i18n.locales import LOCALES

# What part of a row is known at run time only.
ANY = r"[\w:]*"
SOURCE = Path(understudy.__file__).parent
ROWS = {
    f"{domain}/{name}": row
    for section, rows in error_table().items()
    for name, row in rows.items()
    for domain in (row["domains"] if section == SHARED else (section,))
}


def placeholders(words: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(words) if name is not None}


def class_of(row: str) -> str:
    return str(ROWS[row].get("class") or ROWS[row.partition(":")[0]]["class"])


def raised() -> Iterator[tuple[str, ast.Call]]:
    """Where the code makes an error of the table."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "coded_error":
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node


def pattern(argument: ast.expr) -> str:
    """A regular expression of the rows that an argument can name."""
    match argument:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            return "".join(pattern(part) for part in parts)
        case ast.FormattedValue():
            return ANY
    return r"[\w/:]+"


def test_a_row_has_a_class_and_words_in_every_language() -> None:
    assert [row for row in ROWS if CLASSES.get(class_of(row)) is None] == []
    assert [
        row
        for row, entry in ROWS.items()
        for locale in LOCALES
        if not entry.get(locale, "").strip()
        or not placeholders(entry[locale]) <= placeholders(entry["en"])
    ] == []
    # A sentence that is the same in two languages was not translated.
    assert [
        row for row, entry in ROWS.items() if len({entry[it] for it in LOCALES}) < len(LOCALES)
    ] == []


def test_every_error_that_the_code_makes_has_a_row_and_what_its_words_name() -> None:
    wrong = []
    for place, call in raised():
        match call.args[0]:
            case ast.Constant(value=str(row)):
                given = {keyword.arg for keyword in call.keywords}
                missing = placeholders(ROWS[row]["en"]) - given if row in ROWS else {row}
                if missing and not given & {None, "detail"}:
                    wrong.append(f"{place}: {missing}")
            case ast.JoinedStr() as named:
                if not any(re.fullmatch(pattern(named), row) for row in ROWS):
                    wrong.append(f"{place}: no row")

    assert wrong == []


def test_every_row_is_used() -> None:
    texts = {
        node.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    # Those that name a domain or a code in full; anything would match the others.
    named = [
        each
        for each in (pattern(call.args[0]) for _, call in raised())
        if "/" in each and any(ANY not in part for part in each.split("/"))
    ]

    assert [
        row
        for row in ROWS
        if row not in texts
        and row.partition("/")[2] not in texts
        and not any(re.fullmatch(each, row) for each in named)
    ] == []


def test_an_error_tells_its_code_its_domain_and_what_it_is_about() -> None:
    error = coded_error("skills/skill_not_found", ref="weekly")

    assert isinstance(error, NotFound)
    assert (error.domain, error.code) == ("skills", "skill_not_found")
    assert error.detail == str(error) == "there is no skill 'weekly'"


def test_a_client_is_sent_the_params_that_the_row_lists() -> None:
    full = coded_error("mailboxes/mailbox_full", limit=100, other=1)
    hidden = coded_error("skills/skill_not_found", ref="weekly")

    assert (full.params, hidden.params) == ({"limit": 100}, {})


def test_a_variant_has_its_own_words_and_the_code_of_its_row() -> None:
    error = coded_error("learnings/filter_required:short_query", pointer="/query", least=3)

    assert isinstance(error, Invalid)
    assert (error.code, error.errors[0].pointer) == ("filter_required", "/query")
    assert "at least 3 letters" in error.detail


def test_a_wrong_value_of_a_moved_error_keeps_its_translation() -> None:
    error = coded_error("learnings/filter_required:short_query", pointer="/query", least=3)
    assert isinstance(error, Invalid)

    assert error.moved(lambda pointer: "/request" + pointer).row == error.row


@pytest.mark.parametrize("row", ["skills/no_such_code", "nowhere/skill_not_found", "stale_version"])
def test_a_row_that_is_not_there_is_a_mistake_of_the_code(row: str) -> None:
    with pytest.raises(KeyError):
        coded_error(row)


def test_values_are_plain_and_of_bounded_size() -> None:
    error = coded_error("skills/skill_not_found", ref="x" * 5_000, path=Path("a"), all=("b",))

    assert len(str(error.values["ref"])) == MAX_VALUE_CHARS + 1
    assert (error.values["path"], error.values["all"]) == ("a", ["b"])
    assert len(error.detail) < 200


def test_words_read_no_attribute_of_a_param() -> None:
    assert words_in("en", "skills/skill_not_found", {"ref": "{0.__class__}"}) == (
        "there is no skill '{0.__class__}'"
    )
