"""Reads `words.toml`: the lists of words and signs that readers of texts know."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def word_lists() -> Mapping[str, Mapping[str, str]]:
    """Each list by its name, in its table."""
    return tomllib.loads(files("understudy.guard").joinpath("words.toml").read_text("utf-8"))
