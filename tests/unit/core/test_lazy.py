"""Modules and expressions that are made when somebody first uses them."""

import gc
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from threading import Barrier
from types import ModuleType

import pytest

import understudy
from understudy.core.lazy import _LazyPattern, defer_module, lazy_pattern

HOUSE = Path(understudy.__file__).parent


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "deferred_driver"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import errors\nError = errors.Error\n")
    (folder / "errors.py").write_text("class Error(Exception): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("deferred_driver", "deferred_driver.errors"):
        # Put back afterwards.
        monkeypatch.setitem(sys.modules, name, sys)
        del sys.modules[name]
    return folder.name


def test_a_deferred_module_is_imported_when_one_of_its_names_is_used(package: str) -> None:
    defer_module(package, "errors")
    held = __import__(package)
    errors = __import__(package, fromlist=["errors"]).errors
    assert f"{package}.errors" not in sys.modules

    error = errors.Error
    assert held.Error is error is sys.modules[package].Error
    assert sys.modules[package] is not held


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_threads_that_first_use_a_deferred_module_at_once_get_the_same(package: str) -> None:
    together = Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(200):
            for name in (package, f"{package}.errors"):
                sys.modules.pop(name, None)
            defer_module(package, "errors")
            held = sys.modules[package]
            errors = held.errors

            def use(number: int, held: ModuleType = held, errors: ModuleType = errors) -> type:
                together.wait(60)
                return (held if number % 2 else errors).Error

            assert set(pool.map(use, range(8))) == {sys.modules[package].Error}


def test_a_module_that_is_there_already_is_not_deferred(package: str) -> None:
    real = __import__(package)
    defer_module(package)
    assert sys.modules[package] is real
    with pytest.raises(AttributeError):
        _ = real.no_such_name


def test_an_expression_is_compiled_when_it_is_first_used() -> None:
    broken = lazy_pattern("(")
    assert broken.pattern == "("
    with pytest.raises(re.error):
        broken.search("")

    words = lazy_pattern("[a-z]+", re.IGNORECASE)
    assert words.findall("Ann, Bob") == ["Ann", "Bob"]
    assert words.sub("-", "a1") == "-1"
    assert words.search is words.search


def test_every_expression_of_the_house_that_is_compiled_late_is_valid() -> None:
    for file in HOUSE.rglob("*.py"):
        if "lazy_pattern(" in file.read_text():
            import_module(".".join(file.relative_to(HOUSE.parent).with_suffix("").parts))

    late = [each for each in gc.get_objects() if type(each) is _LazyPattern]

    assert len(late) > 200
    for each in late:
        re.compile(each.pattern, each._flags)
