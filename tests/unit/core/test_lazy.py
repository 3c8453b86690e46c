"""Modules that are imported when somebody first uses a name of theirs."""

import re
import sys
from pathlib import Path

import pytest

from understudy.core.lazy import defer_module, lazy_pattern


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
