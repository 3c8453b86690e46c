"""Scripts for the offline model: a TOML file of rules that say what to answer to what.

    [[reply]]                      # tried from top to bottom; the first that fits answers
    when = "deploy"                # a piece of the user's text, or "/a regular expression/";
                                   # without `when` the rule fits everything
    text = "Deploying."
    tool_calls = [{ name = "shell", arguments = { command = "make deploy" } }]

    [[reply]]
    when = "/^report (on )?costs/"
    steps = [                      # one after the other, as the results of the tools come in
      { tool_calls = [{ name = "read_file", arguments = { path = "costs.csv" } }] },
      { text = "It says: {result}" },
    ]

`{user}` and `{result}` in a text stand for what the user said and for the last tool result. After
the last step of a rule the model sums the tool results up. `arguments` given as a string is sent
as it is, valid JSON or not.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from understudy.settings import SettingsError


class ScriptCall(BaseModel):
    """A tool call to answer with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    arguments: dict[str, Any] | str = Field(default_factory=dict)

    @property
    def raw_arguments(self) -> str:
        """The arguments as a model would send them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, default=str)  # TOML has dates, JSON has not


class Step(BaseModel):
    """One answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = ""
    tool_calls: tuple[ScriptCall, ...] = ()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.text and not self.tool_calls:
            raise ValueError("needs a text or tool_calls")
        return self


class Rule(BaseModel):
    """What to answer, step by step, to a user text that fits."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    when: str = ""
    steps: tuple[Step, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _one_step_written_inline(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "steps" in value:
            return value
        inline = {key: value[key] for key in ("text", "tool_calls") if key in value}
        return {key: value[key] for key in value if key not in inline} | {"steps": [inline]}

    @model_validator(mode="after")
    def _expression_compiles(self) -> Self:
        try:
            self.fits("")
        except re.error as problem:
            raise ValueError(f"when is not a regular expression: {problem}") from None
        return self

    def fits(self, text: str) -> bool:
        """Whether this rule answers to the text."""
        if len(self.when) > 2 and self.when.startswith("/") and self.when.endswith("/"):
            return re.search(self.when[1:-1], text, re.IGNORECASE) is not None
        return self.when.casefold() in text.casefold()


class Script(BaseModel):
    """The shape of a script file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reply: tuple[Rule, ...] = Field(min_length=1)


def load_script(path: Path) -> Script:
    """Read a script; `SettingsError` names the line or the key that is wrong."""
    try:
        return Script.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"script {path} cannot be read: {problem}") from None
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"script {path} is not valid TOML: {problem}") from None
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"script {path}: {key}: {first['msg']}") from None
