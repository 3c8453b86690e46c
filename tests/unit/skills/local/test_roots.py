"""Local roots: where skills are looked for, which win, and that one bad skill hides no other."""

from pathlib import Path

import pytest

from understudy.skills.local.roots import (
    MAX_FOLDERS,
    LocalCatalogue,
    Root,
    find_local,
)


def put(folder: Path, text: str = "---\nname: {name}\ndescription: Does it.\n---\nBody.\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "SKILL.md"
    path.write_text(text.replace("{name}", folder.name))
    return path


def find(*paths: Path) -> LocalCatalogue:
    return find_local(Root(path=path) for path in paths)


def names(found: LocalCatalogue) -> list[str]:
    return [skill.name for skill in found.skills]


def codes(found: LocalCatalogue) -> list[str]:
    return [warning.code for warning in found.warnings]


def test_of_two_skills_with_one_name_the_first_wins(tmp_path: Path) -> None:
    first = put(tmp_path / "one" / "report")
    put(tmp_path / "two" / "report")
    put(tmp_path / "two" / "other")

    found = find(tmp_path / "one", tmp_path / "nowhere", tmp_path / "two")

    assert [skill.path for skill in found.skills if skill.name == "report"] == [first]
    assert names(found) == ["report", "other"]
    assert codes(found) == ["root_missing", "name_taken"]


def test_name_and_description_have_defaults(tmp_path: Path) -> None:
    put(tmp_path / "a" / "b", "# Title\n\nWhat it does.\n")
    put(tmp_path / "c", "---\nversion: 1.10\n---\n# Only a title\n")

    found = find(tmp_path)

    assert [(skill.name, skill.description) for skill in found.skills] == [
        ("c", ""),
        ("a:b", "What it does."),
    ]
    assert codes(found) == ["description_missing"]
    assert found.skills[0].manifest.version_label == "1.10"


def test_one_bad_skill_hides_no_other(tmp_path: Path) -> None:
    put(tmp_path / "bad", "---\nname: a\nname: b\n---\n")
    put(tmp_path / "large", "x" * 102_401)
    (put(tmp_path / "binary")).write_bytes(b"\xff\xfe")
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    put(tmp_path / "forked")
    (tmp_path / "forked" / "agents").mkdir()
    (tmp_path / "forked" / "agents" / "understudy.yaml").write_text("model: x")
    put(tmp_path / "hid\u202eden", "Text.")
    put(tmp_path / "zgood")

    found = find(tmp_path)

    assert names(found) == ["zgood"]
    assert sorted(codes(found)) == [
        "hidden_character",
        "invalid_front_matter",
        "invalid_runtime_settings",
        "not_text",
        "too_large",
        "unreadable",
    ]


def test_runtime_settings_are_part_of_the_digest(tmp_path: Path) -> None:
    put(tmp_path / "a")
    before = find(tmp_path).skills[0]
    (tmp_path / "a" / "agents").mkdir()
    (tmp_path / "a" / "agents" / "understudy.yaml").write_text("context: fork\nmodel: small\n")
    after = find(tmp_path).skills[0]

    assert (before.runtime.context, after.runtime.context) == ("inline", "fork")
    assert before.digest != after.digest
    assert before.instructions == after.instructions == "Body.\n"


def test_names_with_a_dot_and_deep_folders_are_not_looked_into(tmp_path: Path) -> None:
    put(tmp_path / ".hidden")
    put(tmp_path.joinpath(*"abcdef"))
    put(tmp_path.joinpath(*"abcdefg"))

    assert names(find(tmp_path)) == ["f"]


def test_links_lead_nowhere_outside_of_the_root(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    put(outside / "secret")
    put(root / "real")
    (root / "linked").symlink_to(outside / "secret")
    (root / "file").mkdir()
    (root / "file" / "SKILL.md").symlink_to(outside / "secret" / "SKILL.md")
    (root / "real" / "again").symlink_to(root)
    (root / "real" / "agents").mkdir()
    (outside / "settings.yaml").write_text("context: fork\n")
    (root / "real" / "agents" / "understudy.yaml").symlink_to(outside / "settings.yaml")

    found = find(root)

    assert names(found) == ["real"]
    assert codes(found) == ["link_leaves_root"] * 2
    assert found.skills[0].runtime.context == "inline"


def test_a_root_may_itself_be_a_link(tmp_path: Path) -> None:
    put(tmp_path / "real" / "a")
    (tmp_path / "root").symlink_to(tmp_path / "real")

    assert names(find(tmp_path / "root")) == ["a"]


@pytest.mark.parametrize("link", ["root", "root/skills"])
def test_no_link_takes_the_place_of_a_folder_that_an_operator_added(
    tmp_path: Path, link: str
) -> None:
    put(tmp_path / "elsewhere" / "skills" / "secret")
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")

    found = find_local([Root(path=tmp_path / "root" / "skills", owner_id="ann")])

    assert (names(found), codes(found)) == ([], ["linked_root"])


def test_folders_above_a_root_are_not_searched(tmp_path: Path) -> None:
    put(tmp_path / "skills" / "planted")
    put(tmp_path / "work" / "skills" / "beside")
    put(tmp_path / "work" / "root" / "mine")

    assert names(find(tmp_path / "work" / "root")) == ["mine"]


def test_a_root_that_is_gone_is_told(tmp_path: Path) -> None:
    assert codes(find(tmp_path / "gone")) == ["root_missing"]


@pytest.mark.parametrize("root", [".", "store", "store/.trash", "store/private/1", "linked"])
def test_no_root_touches_a_place_where_the_daemon_keeps_skills(tmp_path: Path, root: str) -> None:
    put(tmp_path / "store" / "private" / "1")
    put(tmp_path / "store" / ".trash" / "gone.1")
    (tmp_path / "linked").symlink_to(tmp_path / "store")

    found = find_local(
        [Root(path=tmp_path / root)],
        stores=[tmp_path / "nowhere", tmp_path / "store"],
    )

    assert names(found) == []
    assert codes(found) == ["store_root"]


def test_what_lies_in_a_mount_is_passed_over_and_everything_beside_it_is_not(
    tmp_path: Path,
) -> None:
    put(tmp_path / "mounted" / "lrn_1")
    put(tmp_path / "mine")
    (tmp_path / "linked").symlink_to(tmp_path / "mounted")
    (tmp_path / "one").symlink_to(tmp_path / "mounted" / "lrn_1")
    root = Root(path=tmp_path)

    found = find_local([root], mounts=[tmp_path / "mounted"])

    assert (names(found), codes(found)) == (["mine"], [])


def test_a_root_in_a_mount_is_none(tmp_path: Path) -> None:
    put(tmp_path / "mounted" / "lrn_1")
    root = Root(path=tmp_path / "mounted" / "lrn_1")

    found = find_local([root], mounts=[tmp_path / "mounted"])

    assert (names(found), codes(found)) == ([], ["store_root"])


def test_a_folder_beside_a_store_is_a_root(tmp_path: Path) -> None:
    put(tmp_path / "store-of-mine" / "mine")

    found = find_local(
        [Root(path=tmp_path / "store-of-mine")],
        stores=[tmp_path / "store"],
    )

    assert names(found) == ["mine"]


def test_so_many_folders_of_a_root_are_looked_into(tmp_path: Path) -> None:
    for number in range(MAX_FOLDERS + 5):
        (tmp_path / f"f{number:05}").mkdir()
    put(tmp_path / "a")
    put(tmp_path / "z")

    found = find(tmp_path)

    assert names(found) == ["a"]
    assert codes(found) == ["too_many_folders"]


def test_a_folder_of_an_operator_that_every_account_can_write_to_is_no_root(
    tmp_path: Path,
) -> None:
    put(tmp_path / "root" / "planted")
    (tmp_path / "root").chmod(0o777)

    found = find_local([Root(path=tmp_path / "root", owner_id="ann")])

    assert (names(found), codes(found)) == ([], ["open_root"])


def test_a_skill_belongs_to_the_owner_of_its_root(tmp_path: Path) -> None:
    put(tmp_path / "a")
    roots = [Root(path=tmp_path, owner_id="ann")]

    assert [skill.owner_id for skill in find_local(roots).skills] == ["ann"]
    assert [skill.owner_id for skill in find(tmp_path).skills] == [None]


def test_what_comes_before_takes_names_and_slugs(tmp_path: Path) -> None:
    put(tmp_path / "one" / "deploy")
    put(tmp_path / "two" / "deploy")
    put(tmp_path / "two" / "x", "---\nname: X\nslug: deploy\ndescription: Does it.\n---\nBody.\n")
    put(tmp_path / "two" / "mine")
    shared = find(tmp_path / "one").skills

    found = find_local([Root(path=tmp_path / "two", owner_id="ann")], before=shared)

    assert names(found) == ["mine"]
    assert codes(found) == ["name_taken", "slug_taken"]


def test_a_root_that_cannot_be_looked_at_hides_no_other(tmp_path: Path) -> None:
    put(tmp_path / "mine")
    too_long = tmp_path / ("x" * 300)

    found = find_local([Root(path=too_long, owner_id="ann"), Root(path=tmp_path)])

    assert (names(found), codes(found)) == (["mine"], ["unreadable"])


def test_a_link_that_cannot_be_followed_hides_no_skill(tmp_path: Path) -> None:
    put(tmp_path / "mine")
    (tmp_path / "circle").symlink_to("circle")

    found = find(tmp_path)

    assert (names(found), codes(found)) == (["mine"], ["unreadable"])
