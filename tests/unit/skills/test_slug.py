"""Slugs: which are allowed, and how one is made of a name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.core.errors import Invalid
from understudy.skills.slug import check_slug, slug_for, slug_refused, slugify


@pytest.mark.parametrize("slug", ["ab", "a1", "weekly-report", "2fa", "a-b-c", "x" * 64])
def test_a_good_slug_is_taken(slug: str) -> None:
    assert check_slug(slug) == slug


@pytest.mark.parametrize(
    "slug",
    ["My-Skill", "a", "-a", "a-", "a_b", "a--b", "../x", ".trash", "", "x" * 65, "a b", "ä-b", "ab\n",
     "upload", "rescan-deps", "install-deps", "install-dep", "runtimes", "trash", "import", "export",
     "con", "nul", "com1"],
)  # fmt: skip
def test_anything_else_is_refused(slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_slug(slug, pointer="/slug")

    assert refused.value.code == "invalid_slug"
    assert refused.value.errors[0].pointer == "/slug"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Weekly Report", "weekly-report"),
        ("  PDF -- tools!  ", "pdf-tools"),
        ("snake_case.name", "snake-case-name"),
        ("\uff21\uff22 notes", "ab-notes"),
        ("2FA", "2fa"),
    ],
)
def test_a_plain_name_becomes_its_words(name: str, slug: str) -> None:
    assert slugify(name) == slug


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("周报", "月报"),
        ("недельный отчёт", "месячный отчёт"),
        ("bán hàng", "bạn hàng"),
        ("Résumé", "Resume"),
        ("🚀", "🎉"),
        ("x" * 80, "x" * 81),
        ("upload", "uploads"),
    ],
)
def test_different_names_do_not_share_a_slug(one: str, other: str) -> None:
    assert slugify(one) != slugify(other)


def test_the_same_name_always_gives_the_same_slug() -> None:
    assert slugify("caf\u00e9") == slugify("cafe\u0301") == slugify("CAF\u00c9")
    assert slugify("caf\u00e9").startswith("cafe-")


@settings(max_examples=150)
@given(st.text(max_size=120))
def test_every_name_has_an_allowed_slug(name: str) -> None:
    assert slug_refused(slugify(name)) is None


def test_what_was_asked_for_goes_before_the_manifest_and_that_before_the_name() -> None:
    assert slug_for(given="asked", written="written", name="Some Name") == "asked"
    assert slug_for(given=None, written="written", name="Some Name") == "written"
    assert slug_for(given="", written="", name="Some Name") == "some-name"
    for asked, written in (("../x", "fine"), (None, "Not-Fine")):
        with pytest.raises(Invalid):
            slug_for(given=asked, written=written, name="Some Name")
