"""The skills that come with the product are as good as those that are asked for."""

import re
from importlib.resources import as_file, files

import pytest
import skills_ref

from tests.support.skill_texts import companions
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.manifest import Manifest, read
from understudy.skills.bundles.standard import export
from understudy.skills.content_guard import scan_skill
from understudy.skills.dependencies.requirements import find_requirements
from understudy.skills.shipped_skills import FOLDER, SCANNED, shipped_skills

SHIPPED = shipped_skills()

skill = pytest.mark.parametrize("slug", sorted(SHIPPED))


def texts(bundle: Bundle) -> str:
    return "\n".join(data.decode() for data in bundle.values())


def test_the_two_that_are_promised_are_there() -> None:
    assert {"skill-creator", "review-assistant"} <= set(SHIPPED)


@skill
def test_one_conforms_to_the_standard(slug: str) -> None:
    with as_file(files("understudy.skills").joinpath(FOLDER).joinpath(slug)) as folder:
        assert skills_ref.validate(folder) == []
        assert skills_ref.read_properties(folder).name == slug


@skill
def test_one_says_when_to_use_it_and_has_tags(slug: str) -> None:
    reading = read(SHIPPED[slug].manifest_text)

    assert reading.problems == ()
    assert "Use it when" in reading.manifest.description
    assert (reading.manifest.slug, bool(reading.manifest.tags)) == (slug, True)


@skill
def test_one_is_clean_by_the_guard(slug: str) -> None:
    assert scan_skill(SHIPPED[slug]) == ()


def test_the_digests_that_need_no_scan_at_a_start_are_those_of_what_is_shipped() -> None:
    assert {bundle.digest for bundle in SHIPPED.values()} == SCANNED


@skill
def test_one_names_no_tool_that_an_agent_may_not_know_of(slug: str) -> None:
    assert "skill_manage" not in texts(SHIPPED[slug])


@skill
def test_one_needs_nothing(slug: str) -> None:
    assert find_requirements(SHIPPED[slug], Manifest()).dependencies == ()


@skill
def test_one_keeps_to_what_it_teaches_about_length(slug: str) -> None:
    text = SHIPPED[slug].manifest_text

    assert len(text.splitlines()) < 500
    assert len(text) / 4 < 5_000


@skill
def test_one_mentions_each_of_its_files(slug: str) -> None:
    body = SHIPPED[slug].manifest_text

    assert [path for path in companions(SHIPPED[slug]) if path not in body] == []


@skill
def test_one_names_only_files_that_it_has(slug: str) -> None:
    named = re.findall(r"`((?:references|assets)/[\w./-]+)`", texts(SHIPPED[slug]))
    examples = {"references/currencies.md"}

    assert set(named) - examples <= set(SHIPPED[slug])


@skill
def test_one_survives_its_export(slug: str) -> None:
    again = Bundle(export(SHIPPED[slug], slug=slug, facts={"version": "1"}))

    assert (
        read(again.manifest_text).manifest.tags == read(SHIPPED[slug].manifest_text).manifest.tags
    )
