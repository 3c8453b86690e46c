"""What goes wrong with the files of one skill costs that skill, is told, and is made up for."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.rollout_factories import make_definition, make_rollout
from understudy.core.errors import Conflict, DatabaseUnavailable
from understudy.rollout.files import bundle_of
from understudy.rollout.model import Rollout, RolloutMark, Stage
from understudy.rollout.mounts import MAX_CHECKED, MountKeeper, MountSync
from understudy.rollout.name_clashes import Shadows
from understudy.rollout.promoted_skills import is_in_place, require_in_place
from understudy.rollout.repair import TOGETHER, MountRepair
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.manifest import Manifest
from understudy.skills.content_guard import ContentGuard
from understudy.skills.local.skill import LocalSkill
from understudy.skills.runtime_settings import RuntimeSettings
from understudy.storage.mount_folders import MountFolders

WORKSPACE = Path("/workspace")
ACTIVE = make_rollout("notes", status=Stage.ACTIVE, source_learning_id="lrn_1")


@dataclass
class Disk(MountFolders):
    """Folders that fail when they are told to."""

    there: dict[str, str] = field(default_factory=dict)
    problem: Exception | None = None
    # What becomes of everything that is written.
    spoiled: str | None = None
    # The folders that were read.
    read: list[str] = field(default_factory=list)

    def path(self, name: str) -> Path:
        return Path("/home") / name

    def names(self) -> list[str]:
        self._fail()
        return list(self.there)

    def has(self, name: str) -> bool:
        return name in self.there

    def digest(self, name: str) -> str | None:
        self._fail()
        self.read.append(name)
        return self.there.get(name)

    def look(self, name: str) -> str | None:
        return self.there.get(name)

    def write(self, name: str, bundle: Bundle) -> None:
        self.there[name] = self.spoiled or bundle.digest

    def remove(self, name: str) -> None:
        self._fail()
        del self.there[name]

    def _fail(self) -> None:
        if self.problem is not None:
            raise self.problem


def local(name: str, *, owner_id: str | None = None, root: str = "/people") -> LocalSkill:
    return LocalSkill(
        name=name,
        description="",
        owner_id=owner_id,
        path=Path(root) / name / "SKILL.md",
        root=Path(root),
        digest="",
        runtime=RuntimeSettings(),
        manifest=Manifest(),
        instructions="",
    )


def keeper_of(disk: Disk, *found: LocalSkill) -> MountKeeper:
    known: Mapping[str, LocalSkill] = {skill.slug: skill for skill in found}
    return MountKeeper(disk, Shadows(lambda: known))


def codes(keeper: MountKeeper) -> list[str]:
    return [str(each.code) for each in keeper.troubles()]


def test_a_disk_that_fails_is_told_until_it_does_not() -> None:
    disk = Disk(problem=OSError(28, "No space left on device"))
    keeper = keeper_of(disk)

    keeper.bring("lrn_1", ACTIVE, by_force=True)
    [trouble] = keeper.troubles()
    assert (trouble.code, trouble.name) == ("rollout_unmounted", "notes")
    assert (trouble.detail, keeper.mounted()) == ("No space left on device", 0)

    disk.problem = None
    keeper.bring("lrn_1", ACTIVE, by_force=False)
    assert (codes(keeper), keeper.mounted()) == ([], 1)


@pytest.mark.parametrize("problem", [PermissionError(1, "not permitted"), RecursionError()])
def test_what_cannot_be_removed_is_told(problem: Exception) -> None:
    keeper = keeper_of(Disk({"stray": "x"}, problem))

    keeper.bring("stray", None, by_force=True)

    [trouble] = keeper.troubles()
    assert (trouble.code, trouble.name) == ("rollout_files_left", "stray")
    keeper.only(set())
    assert keeper.troubles() == ()


def test_what_does_not_stay_as_it_was_written_is_not_mounted() -> None:
    keeper = keeper_of(Disk(spoiled="something else"))

    keeper.bring("lrn_1", ACTIVE, by_force=True)

    assert (codes(keeper), keeper.mounted()) == (["rollout_unmounted"], 0)


def test_what_others_changed_is_left_without_force_and_what_we_wrote_is_not() -> None:
    disk = Disk()
    keeper = keeper_of(disk)
    keeper.bring("lrn_1", ACTIVE, by_force=False)
    changed = make_rollout("notes", status=Stage.ACTIVE, definition=make_definition("notes"))

    keeper.bring("lrn_1", changed, by_force=False)
    assert disk.there == {"lrn_1": bundle_of(changed.definition).digest}

    disk.there["lrn_1"] = "edited"
    keeper.bring("lrn_1", changed, by_force=False)
    assert (disk.there, codes(keeper)) == ({"lrn_1": "edited"}, ["rollout_drifted"])

    keeper.bring("lrn_1", changed, by_force=True)
    assert codes(keeper) == []


def test_a_disk_that_cannot_be_read_says_nothing_for_a_skill() -> None:
    disk = Disk(problem=OSError(5, "Input/output error"))

    assert not is_in_place(disk, ACTIVE)
    with pytest.raises(Conflict, match="mismatch"):
        require_in_place(keeper_of(disk), ACTIVE)


def test_whoever_is_refused_tells_of_it_at_once() -> None:
    disk = Disk()
    keeper = keeper_of(disk)
    keeper.bring("lrn_1", ACTIVE, by_force=True)
    require_in_place(keeper, ACTIVE)
    assert keeper.trouble_of("lrn_1") is None

    disk.there["lrn_1"] = "edited"
    with pytest.raises(Conflict, match="mismatch"):
        require_in_place(keeper, ACTIVE)

    assert (codes(keeper), keeper.mounted()) == (["rollout_drifted"], 0)


def test_a_refusal_does_not_hide_what_was_known_to_be_wrong() -> None:
    keeper = keeper_of(Disk(spoiled="something else"))
    keeper.bring("lrn_1", ACTIVE, by_force=True)

    with pytest.raises(Conflict):
        require_in_place(keeper, ACTIVE)

    assert codes(keeper) == ["rollout_unmounted"]


def test_a_check_reads_only_what_looks_otherwise_and_sees_when_all_is_well_again() -> None:
    disk = Disk()
    keeper = keeper_of(disk)
    other = make_rollout("other", status=Stage.ACTIVE, source_learning_id="lrn_2")
    keeper.bring("lrn_1", ACTIVE, by_force=True)
    keeper.bring("lrn_2", other, by_force=True)
    as_written, disk.read = disk.there["lrn_1"], []

    keeper.check_changes()
    assert (disk.read, codes(keeper)) == ([], [])

    disk.there["lrn_1"] = "edited"
    keeper.check_changes()
    assert (disk.read, codes(keeper)) == (["lrn_1"], ["rollout_drifted"])

    disk.there["lrn_1"] = as_written
    keeper.check_changes()
    assert (codes(keeper), keeper.mounted()) == ([], 2)


def test_a_check_of_a_disk_that_fails_tells_so_and_fails_nobody() -> None:
    disk = Disk()
    keeper = keeper_of(disk)
    keeper.bring("lrn_1", ACTIVE, by_force=True)
    del disk.there["lrn_1"]
    disk.problem = OSError(5, "Input/output error")

    keeper.check_changes()

    assert codes(keeper) == ["rollout_drifted"]


@pytest.mark.parametrize(
    ("found", "wins"),
    [
        (local("notes"), True),
        (local("Notes"), True),
        (local("notes", owner_id="ann"), False),
        (local("other"), False),
    ],
    ids=["in the config", "in other letters", "an operator's", "another"],
)
def test_only_what_people_put_there_takes_a_name(found: LocalSkill, wins: bool) -> None:
    disk = Disk()
    keeper = keeper_of(disk, found)

    keeper.bring("lrn_1", ACTIVE, by_force=True)

    assert codes(keeper) == (["rollout_shadowed"] if wins else [])
    assert disk.has("lrn_1") is not wins


def _mark(it: Rollout) -> RolloutMark:
    return RolloutMark(
        skill_name=it.skill_name,
        source_learning_id=it.source_learning_id,
        status=it.status,
        fingerprint=it.fingerprint,
        attempt=it.attempt,
        is_flagged=it.is_flagged,
    )


class Database:
    """Units on a database that is away, or that has one active rollout."""

    def __init__(self, *active: Rollout) -> None:
        self.active_ones = active

    def read(self) -> AbstractContextManager[Any]:
        return self._unit()

    @contextmanager
    def _unit(self) -> Any:
        if not self.active_ones:
            raise DatabaseUnavailable("database_unavailable", domain="storage")
        yield self

    @property
    def rollouts(self) -> "Database":
        return self

    def stamp(self, _: object) -> dict[str, RolloutMark]:
        return {it.skill_name: _mark(it) for it in self.active_ones}

    def active(self) -> tuple[Rollout, ...]:
        return self.active_ones

    def several(self, names: Collection[str]) -> tuple[Rollout, ...]:
        return tuple(it for it in self.active_ones if it.skill_name in names)

    def after_commit(self, act: Any) -> None:
        act()


def test_a_database_that_is_away_changes_no_files_and_fails_nobody() -> None:
    disk = Disk({"lrn_1": "x"})
    away: Any = Database()
    keeper = keeper_of(disk)

    MountRepair(away, keeper).keep_up()
    MountSync(units=away, keeper=keeper, guard=ContentGuard()).after(away, ACTIVE)

    assert disk.there == {"lrn_1": "x"}


def test_folders_that_cannot_be_listed_cost_what_should_be_there_and_no_start() -> None:
    disk = Disk(problem=OSError(5, "Input/output error"))
    units: Any = Database(ACTIVE)
    keeper = keeper_of(disk)
    repair = MountRepair(units, keeper)

    repair.startup()
    assert codes(keeper) == ["rollout_unmounted"]

    disk.problem = None
    repair.keep_up()
    assert codes(keeper) == ["rollout_unmounted"]
    repair.look()
    assert codes(keeper) == []


def test_only_folders_whose_record_changed_are_read_again() -> None:
    disk = Disk()
    known: dict[str, LocalSkill] = {}
    keeper = MountKeeper(disk, Shadows(lambda: known))
    some = [
        make_rollout(f"notes-{at}", status=Stage.ACTIVE, source_learning_id=f"lrn_{at}")
        for at in range(5)
    ]
    units: Any = Database(*some)
    repair = MountRepair(units, keeper)
    repair.startup()

    def follow(*active: Rollout) -> list[str]:
        disk.read = []
        units.active_ones = active
        repair.keep_up()
        assert disk.there.keys() == {it.source_learning_id for it in active}
        return sorted(set(disk.read))

    # Runs that speak for a skill raise its revision, and change nothing that is offered.
    spoken_for = replace(some[1], revision=9, updated_at_ms=9)
    assert follow(some[0], spoken_for, *some[2:]) == []
    assert follow(*some[1:]) == []
    moved = replace(some[2], source_learning_id="lrn_new", attempt=2)
    assert follow(some[1], moved, *some[3:]) == ["lrn_new"]
    assert codes(keeper) == []


def test_a_skill_that_takes_a_name_later_is_noticed_for_that_name_alone() -> None:
    disk = Disk()
    known: dict[str, LocalSkill] = {}
    keeper = MountKeeper(disk, Shadows(lambda: dict(known)))
    other = make_rollout("other", status=Stage.ACTIVE, source_learning_id="lrn_2")
    units: Any = Database(ACTIVE, other)
    repair = MountRepair(units, keeper)
    repair.startup()
    disk.read = []

    known["Notes"] = local("Notes")
    repair.keep_up()
    assert ([*disk.there], codes(keeper)) == (["lrn_2"], ["rollout_shadowed"])

    known.clear()
    repair.keep_up()
    assert (set(disk.there), codes(keeper)) == ({"lrn_1", "lrn_2"}, [])
    assert set(disk.read) == {"lrn_1"}


def test_a_record_that_cannot_be_read_costs_its_own_files_until_it_can() -> None:
    disk = Disk()
    units: Any = Database(ACTIVE)
    repair = MountRepair(units, keeper_of(disk))
    repair.startup()
    assert (repair.unreadable, [*disk.there]) == ((), ["lrn_1"])

    units.several = lambda _names: ()
    units.active_ones = (replace(ACTIVE, attempt=2),)
    repair.keep_up()
    assert (repair.unreadable, disk.there) == ((ACTIVE.skill_name,), {})

    del units.several
    units.active_ones = (replace(ACTIVE, attempt=3),)
    repair.keep_up()
    assert (repair.unreadable, [*disk.there]) == ((), ["lrn_1"])


def several(count: int) -> list[Rollout]:
    return [
        make_rollout(f"notes-{at:03}", status=Stage.ACTIVE, source_learning_id=f"lrn_{at:03}")
        for at in range(count)
    ]


def test_a_check_of_many_looks_at_a_few_and_at_the_others_in_their_turn() -> None:
    looked = list[str]()

    class Looked(Disk):
        def look(self, name: str) -> str | None:
            looked.append(name)
            return super().look(name)

    keeper = keeper_of(Looked())
    some = several(MAX_CHECKED + 50)
    for rollout in some:
        keeper.bring(rollout.source_learning_id, rollout, by_force=True)
    every = [it.source_learning_id for it in some]

    def check_changes() -> list[str]:
        looked.clear()
        keeper.check_changes()
        return looked.copy()

    assert check_changes() == every[:MAX_CHECKED]
    assert check_changes() == [*every[MAX_CHECKED:], *every[: MAX_CHECKED - 50]]
    keeper.bring(every[-1], None, by_force=True)
    assert check_changes() == [*every[MAX_CHECKED - 50 : -1], *every[:101]]


def test_looking_again_reads_no_file_that_nobody_touched() -> None:
    disk = Disk()
    units: Any = Database(*several(3))
    repair = MountRepair(units, keeper_of(disk))
    repair.startup()
    disk.read = []

    repair.look()
    assert disk.read == []

    disk.there["lrn_001"] = "edited"
    repair.look()
    assert disk.read == ["lrn_001"]


def test_what_a_start_has_no_time_for_is_refused_until_it_is_in_order() -> None:
    some = several(TOGETHER + 2)
    late = some[-1]
    disk = Disk({late.source_learning_id: "edited", "stray": "x"})
    units: Any = Database(*some)
    keeper = keeper_of(disk)
    repair = MountRepair(units, keeper)

    repair.startup(patience_s=0)
    assert (keeper.mounted(), disk.has("stray")) == (TOGETHER, False)
    with pytest.raises(Conflict, match="mismatch"):
        require_in_place(keeper, late)

    repair.look()
    assert (keeper.mounted(), codes(keeper)) == (len(some), [])
    require_in_place(keeper, late)


def test_what_is_taken_back_while_a_start_goes_on_gets_no_files() -> None:
    some = several(TOGETHER + 1)
    disk = Disk()
    units: Any = Database(*some)
    repair = MountRepair(units, keeper_of(disk))
    repair.startup(patience_s=0)

    units.active_ones = tuple(some[:-1])
    units.several = lambda names: tuple(
        replace(it, status=Stage.REVOKED) if it is some[-1] else it
        for it in some
        if it.skill_name in names
    )
    repair.look()

    assert disk.there.keys() == {it.source_learning_id for it in some[:-1]}


def test_a_database_that_goes_away_during_a_start_costs_it_nothing_but_time() -> None:
    disk = Disk({"lrn_000": "edited"})
    units: Any = Database(*several(2))
    repair = MountRepair(units, keeper_of(disk))

    def away(_: object) -> tuple[Rollout, ...]:
        raise DatabaseUnavailable("database_unavailable", domain="storage")

    units.several = away
    with pytest.raises(DatabaseUnavailable):
        repair.startup()

    del units.several
    repair.look()
    assert "edited" not in disk.there.values()
    assert len(disk.there) == 2
