"""Which skills fit some words."""

from tests.support.cpu_effort import takes_under
from tests.unit.skills.test_catalogue_entry import offered
from understudy.skills.catalogue import MAX_QUERY_CHARS, rank, tokens


def slugs(query: str, *texts: str) -> list[str]:
    """The places of the texts that fit, best first."""
    skills = [offered(f"s{at}", f"n{at}", description=text) for at, text in enumerate(texts)]
    return [one.slug for one in rank(skills, query)]


def test_what_says_more_of_the_rare_words_comes_first() -> None:
    common = "report about reports"

    assert slugs("quarterly report", common, "quarterly report", common) == ["s1", "s0", "s2"]


def test_what_shares_no_word_does_not_fit() -> None:
    assert slugs("invoice", "Writes reports", "Books travel") == []
    assert slugs("", "Writes reports") == []
    assert slugs("?!", "Writes reports") == []


def test_of_equals_the_first_comes_first() -> None:
    assert slugs("report", "a report", "a report") == ["s0", "s1"]


def test_the_exact_slug_beats_every_description() -> None:
    skills = [
        offered("other", description="deploy app deploy app deploy app"),
        offered("deploy-app-now", description="nothing"),
        offered("deploy-app", description="nothing"),
    ]

    assert [one.slug for one in rank(skills, "deploy-app")] == [
        "deploy-app",
        "deploy-app-now",
        "other",
    ]
    assert rank(skills, "Deploy App")[0].slug == "deploy-app"


def test_marks_and_case_do_not_matter() -> None:
    assert slugs("resume", "Writes a Résumé") == ["s0"]
    assert slugs("RÉSUMÉ", "writes a resume") == ["s0"]
    assert slugs("bao cao", "Viết báo cáo tuần") == ["s0"]


def test_chinese_is_found_by_its_parts() -> None:
    assert slugs("周报", "撰写每周报告", "翻译文件") == ["s0"]
    assert slugs("翻译", "撰写每周报告", "翻译文件") == ["s1"]


def test_tokens_are_words_of_two_and_more_letters_and_pairs_of_characters() -> None:
    assert list(tokens("A PDF-file_v2, é 每周报")) == ["pdf", "file", "v2", "每周", "周报"]
    assert list(tokens("每")) == ["每"]


def test_when_to_use_counts_too() -> None:
    skills = [offered("a", description="x"), offered("b", description="x", when_to_use="invoices")]

    assert [one.slug for one in rank(skills, "invoices")] == ["b"]


def test_a_very_long_query_takes_no_longer() -> None:
    skills = [offered(f"s{at}", description="alpha beta gamma " * 20) for at in range(200)]

    assert rank(skills, "x" * MAX_QUERY_CHARS + " alpha") == ()
    assert rank(skills, "zeta " * 200_000) == ()
    assert takes_under(1, lambda: rank(skills, "zeta " * 200_000))
