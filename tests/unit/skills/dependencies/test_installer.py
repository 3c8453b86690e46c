"""Installing packages for skills, with the real installers and packages of our own."""

import ensurepip
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.packages import make_source, make_wheel, npm_registry
from tests.support.receiver import Receiver
from understudy.skills.dependencies.environments import SITE_PACKAGES, Environments
from understudy.skills.dependencies.installer import NO_NPM, NPM, PIP, STOPPED, PackageInstaller
from understudy.skills.dependencies.names import Manager
from understudy.tools.processes import ChildProcesses
from understudy.tools.programs import Programs

SLUG = "weekly-report"
WITHIN_S = 120.0
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm here")


@pytest.fixture(scope="module")
def installed_pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the pip that Python brings, quicker than Python itself makes it."""
    folder = tmp_path_factory.mktemp("installer") / "installer"
    command = [sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    (bundled,) = Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")
    (site,) = folder.glob(SITE_PACKAGES)
    zipfile.ZipFile(bundled).extractall(site)
    (folder / "made").touch()
    return folder


@pytest.fixture
def environments(tmp_path: Path, installed_pip: Path) -> Environments:
    found = Environments(tmp_path / "skills-env")
    found.root.mkdir()
    # It refers to itself by its folder, so a link to it is as good.
    found.installer.symlink_to(installed_pip)
    return found


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    folder.mkdir()
    return folder


@pytest.fixture
def installer(environments: Environments, shelf: Path) -> PackageInstaller:
    programs = Programs({"PATH": os.environ["PATH"]}, ChildProcesses())
    options = ("--no-index", "--find-links", str(shelf))
    return PackageInstaller(environments, programs, pip_options=options)


def said_by(python: Path, script: str) -> str:
    command = [str(python), "-I", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.strip()


def test_a_package_comes_into_the_environment_of_one_skill_and_stays_when_the_next_fails(
    installer: PackageInstaller, environments: Environments, shelf: Path
) -> None:
    make_wheel(shelf, "tiny_words", {"tiny_words.py": "WORD = 'hello'\n"})
    assert not environments.machine_for(SLUG).has(Manager.PIP, "tiny-words")
    assert environments.python(SLUG) is None

    with installer.alone():
        why = installer.install(SLUG, Manager.PIP, ["tiny-words"], within_s=WITHIN_S)

    assert why is None
    assert environments.machine_for(SLUG).has(Manager.PIP, "tiny-words")
    assert not environments.machine_for("other-skill").has(Manager.PIP, "tiny-words")
    python = environments.python(SLUG)
    assert python is not None
    assert said_by(python, "import tiny_words; print(tiny_words.WORD)") == "hello"
    names = ["tiny-words", "no-such-words"]
    why = installer.install(SLUG, Manager.PIP, names, within_s=WITHIN_S)
    assert "no-such-words" in (why or "")
    for name, is_there in (("tiny-words", True), ("no-such-words", False)):
        with installer.alone():
            why = installer.fetch(SLUG, Manager.PIP, name, within_s=WITHIN_S)
        assert (why is None) is is_there
    assert said_by(python, "import tiny_words; print(tiny_words.WORD)") == "hello"
    assert sorted(path.name for path in environments.root.iterdir()) == [
        ".installer",
        ".lock",
        SLUG,
    ]


def test_a_package_that_would_have_to_be_built_is_not(
    installer: PackageInstaller, environments: Environments, shelf: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    make_source(shelf, "built_words", f"open({str(marker)!r}, 'w').close()\n")

    why = installer.install(SLUG, Manager.PIP, ["built-words"], within_s=WITHIN_S)

    assert why is not None
    assert "built-words" in why
    assert not marker.exists()
    assert not environments.machine_for(SLUG).has(Manager.PIP, "built-words")


def test_what_a_package_has_python_run_at_its_start_is_not_run_by_the_next_installation(
    installer: PackageInstaller, environments: Environments, shelf: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    start = f"import os; open({str(marker)!r}, 'w').close()\n"
    make_wheel(shelf, "eager_words", {"eager_words.pth": start})
    make_wheel(shelf, "more_words", {"more_words.py": ""})

    first = installer.install(SLUG, Manager.PIP, ["eager-words"], within_s=WITHIN_S)
    names = ["eager-words", "more-words"]
    second = installer.install(SLUG, Manager.PIP, names, within_s=WITHIN_S)

    assert (first, second) == (None, None)
    assert environments.machine_for(SLUG).has(Manager.PIP, "more-words")
    assert not marker.exists()


def test_an_index_that_does_not_answer_well_is_given_up_soon(environments: Environments) -> None:
    programs = Programs({"PATH": os.environ["PATH"]}, ChildProcesses())
    with Receiver(*[503] * 10) as index:
        options = ("--index-url", index.url)
        installer = PackageInstaller(environments, programs, pip_options=options)
        why = installer.install(SLUG, Manager.PIP, ["no-such-words"], within_s=WITHIN_S)

    assert "no-such-words" in (why or "")
    # Some versions of pip ask once more, as they are told; none asks again and again.
    assert 1 <= len(index.requests) <= 2


@needs_npm
def test_a_package_of_npm_comes_without_its_scripts(
    environments: Environments, shelf: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    hooks = dict.fromkeys(("preinstall", "install", "postinstall"), f"touch {marker}")
    packages = {
        "tiny-words": {"scripts": hooks, "dependencies": {"@small/letters": "^1.0.0"}},
        "@small/letters": {"scripts": hooks},
    }
    programs = Programs({"PATH": os.environ["PATH"]}, ChildProcesses())
    with npm_registry(shelf, packages) as address:
        installer = PackageInstaller(environments, programs, npm_options=("--registry", address))
        why = installer.install(SLUG, Manager.NPM, ["tiny-words"], within_s=WITHIN_S)
        not_there = installer.install("other-skill", Manager.NPM, ["none-such"], within_s=WITHIN_S)

    machine = environments.machine_for(SLUG)
    assert why is None
    assert machine.has(Manager.NPM, "tiny-words")
    assert machine.has(Manager.NPM, "@small/letters")
    assert not marker.exists()
    assert not_there is not None
    assert "404" in not_there
    assert not environments.machine_for("other-skill").has(Manager.NPM, "none-such")


def test_a_machine_without_npm_is_told_so(environments: Environments, tmp_path: Path) -> None:
    programs = Programs({"PATH": str(tmp_path)}, ChildProcesses())

    why = PackageInstaller(environments, programs).install(
        SLUG, Manager.NPM, ["tiny-words"], within_s=WITHIN_S
    )

    assert why == NO_NPM


@pytest.mark.parametrize(
    ("manager", "names"),
    [
        (Manager.SYSTEM, ["ffmpeg"]),
        (Manager.PIP, ["fine", "--index-url=http://x"]),
        (Manager.NPM, ["../evil"]),
    ],
)
def test_what_is_no_name_never_reaches_a_command_line(
    environments: Environments, manager: Manager, names: list[str], tmp_path: Path
) -> None:
    # Whatever was started would fail for want of a program, with other words.
    programs = Programs({"PATH": str(tmp_path)}, ChildProcesses())
    installer = PackageInstaller(environments, programs)

    why = installer.install(SLUG, manager, names, within_s=WITHIN_S)

    assert why == "only packages of pip and npm are installed"
    assert environments.python(SLUG) is None


def test_there_is_no_time_left_once_it_is_over(
    installer: PackageInstaller, environments: Environments
) -> None:
    why = installer.install(SLUG, Manager.PIP, ["tiny-words"], within_s=0.0)

    assert why == STOPPED["timeout"]
    assert environments.python(SLUG) is None


@pytest.mark.parametrize(
    "flag",
    ["--only-binary", "--isolated", "--no-input", "-I"],
)
def test_pip_is_told_to_build_nothing_ask_nothing_and_read_no_ones_settings(flag: str) -> None:
    assert flag in PIP


def test_npm_is_told_to_run_no_scripts_and_no_git() -> None:
    assert {"--ignore-scripts", "--git=no-git", "--global=false"} <= set(NPM)


def test_an_environment_whose_installer_was_killed_while_it_replaced_packages_is_made_anew(
    installer: PackageInstaller, environments: Environments, shelf: Path
) -> None:
    make_wheel(shelf, "tiny_words", {"tiny_words.py": "WORD = 'hello'\n"})
    with installer.alone():
        assert installer.install(SLUG, Manager.PIP, ["tiny-words"], within_s=WITHIN_S) is None
        (site,) = (environments.folder(SLUG) / "python").glob(SITE_PACKAGES)
        shutil.rmtree(site)

        why = installer.install(SLUG, Manager.PIP, ["tiny-words"], within_s=WITHIN_S)

    assert why is None
    assert environments.machine_for(SLUG).has(Manager.PIP, "tiny-words")
