"""The places where packages for skills are installed."""

import multiprocessing
from pathlib import Path

import pytest

from understudy.core.errors import Conflict, Invalid
from understudy.skills.dependencies import environments as module
from understudy.skills.dependencies.environments import Environments
from understudy.skills.dependencies.names import Manager


@pytest.fixture
def environments(tmp_path: Path) -> Environments:
    return Environments(tmp_path / "skills-env")


def try_alone(root: Path) -> str:
    try:
        with Environments(root).alone():
            return "alone"
    except Conflict as refused:
        return refused.code


def test_nothing_is_there_before_something_is_installed(environments: Environments) -> None:
    assert environments.python("a-skill") is None
    assert not environments.machine_for("a-skill").has(Manager.NPM, "marked")
    assert not environments.root.exists()


def test_what_the_machine_has_counts_for_every_skill(environments: Environments) -> None:
    assert environments.machine_for("a-skill").has(Manager.PIP, "pytest")
    (environments.folder("b-skill") / "node").mkdir(parents=True)
    assert environments.machine_for("b-skill").has(Manager.PIP, "pytest")


@pytest.mark.parametrize("slug", ["..", "a/b", ".installer", ".lock", "", "A"])
def test_what_is_no_slug_leads_nowhere(environments: Environments, slug: str) -> None:
    with pytest.raises(Invalid):
        environments.folder(slug)
    with pytest.raises(Invalid):
        environments.machine_for(slug)


def test_only_one_installs_at_a_time_whatever_the_process(environments: Environments) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        with environments.alone():
            assert try_alone(environments.root) == "skill_install_running"
            assert pool.apply(try_alone, (environments.root,)) == "skill_install_running"
        assert pool.apply(try_alone, (environments.root,)) == "alone"


def test_a_place_to_prepare_is_empty_and_gone_afterwards(environments: Environments) -> None:
    left = environments.root / ".staging" / "left-by-a-crash"
    left.mkdir(parents=True)

    with environments.staging() as folder:
        assert list(folder.iterdir()) == []
        (folder / "something").touch()

    assert not folder.exists()


def test_the_machine_is_looked_at_again_after_a_while(
    environments: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = environments.machine_for("a-skill")

    assert environments.machine_for("a-skill") is first
    monkeypatch.setattr(module, "LOOK_AGAIN_S", -1.0)
    assert environments.machine_for("a-skill") is not first
