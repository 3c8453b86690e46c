"""Finding tools, and telling a model what is wrong with its arguments."""

import json

import pytest
from pydantic import BaseModel

from understudy.tools.base import ToolError, schema_of
from understudy.tools.files import ListFiles, ReadFile, ReadFileParameters, WriteFile
from understudy.tools.registry import MAX_ARGUMENT_CHARS, ToolRegistry


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry([ReadFile(), WriteFile(), ListFiles()])


def refusal(registry: ToolRegistry, name: str, raw: str) -> ToolError:
    with pytest.raises(ToolError) as refused:
        registry.validate(name, raw)
    return refused.value


def test_tools_are_found_by_name_in_the_given_order(registry: ToolRegistry) -> None:
    assert registry.names() == ("read_file", "write_file", "list_files")
    assert isinstance(registry.get("write_file"), WriteFile)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same name"):
        ToolRegistry([ReadFile(), ReadFile()])


def test_a_description_is_json_and_its_schema_is_made_once(registry: ToolRegistry) -> None:
    first, second = registry.describe(), registry.describe()
    assert json.loads(json.dumps(first))[0]["name"] == "read_file"
    assert first[0].keys() == {"name", "description", "effect", "approval", "parameters"}
    assert (first[1]["effect"], first[1]["approval"]) == ("idempotent", "never")
    assert first[0]["parameters"] is second[0]["parameters"] is registry.schema("read_file")
    assert registry.schema("read_file") == schema_of(ReadFile.parameters)


def test_valid_arguments_become_the_tools_own_model(registry: ToolRegistry) -> None:
    arguments = registry.validate("read_file", '{"path": "a.txt", "limit": 5}')
    assert arguments == ReadFileParameters(path="a.txt", limit=5)


@pytest.mark.parametrize("raw", ["", "  ", "{}"])
def test_no_arguments_at_all_mean_the_defaults(registry: ToolRegistry, raw: str) -> None:
    assert registry.validate("list_files", raw).model_dump() == {"path": ".", "recursive": False}


def test_a_whole_surrogate_pair_is_one_character(registry: ToolRegistry) -> None:
    arguments = registry.validate("read_file", '{"path": "\\uD83D\\ude00"}')
    assert arguments == ReadFileParameters(path="😀")


def test_an_unknown_tool_lists_the_names_there_are(registry: ToolRegistry) -> None:
    error = refusal(registry, "delete_file" + "x" * 500, "{}")
    assert error.code == "unknown_tool"
    assert "available: read_file, write_file, list_files" in error.detail
    assert len(error.detail) < 200


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ('{"path": "a.txt"', "not valid JSON at line 1 column 17: Expecting ',' delimiter"),
        ("{'path': 1}", "not valid JSON at line 1 column 2"),
        ('{\n"path": }', "line 2 column 9"),
        ('{"path": NaN}', "NaN or infinite"),
        ('{"offset": ' + "1" * 5000 + "}", "a number is too long"),
        ("[" * 100_000, "nested too deeply"),
        ('["a.txt"]', "must be a JSON object, not list"),
        ("null", "must be a JSON object, not NoneType"),
        ("{}", "path: is required"),
        ('{"path": 3}', "path: must be text"),
        ('{"path": "a", "offset": 0}', "offset: must be at least 1"),
        ('{"path": "a", "append": true}', "append: is not a parameter of this tool"),
        ('{"path": "\\ud800"}', "not valid Unicode"),
        ('{"path": "a", "a\\nb": 1}', "'a\\nb': is not a parameter"),
        (" " * (MAX_ARGUMENT_CHARS + 1), f"at most {MAX_ARGUMENT_CHARS} are read"),
    ],
    ids=range(15),
)
def test_feedback_says_where_and_what_was_expected(
    registry: ToolRegistry, raw: str, said: str
) -> None:
    error = refusal(registry, "read_file", raw)
    assert error.code == "invalid_arguments"
    assert said in error.detail


def test_feedback_names_the_parameters_there_are(registry: ToolRegistry) -> None:
    assert "It takes: path, offset, limit." in refusal(registry, "read_file", "{}").detail


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "' + "A" * 100_000,
        '{"path": ["' + "A" * 100_000 + '"]}',
        '{"' + "A" * 100_000 + '": 1}',
        json.dumps({"A" * 50 + str(number): "A" * 100 for number in range(1000)}),
    ],
    ids=range(4),
)
def test_feedback_repeats_little_of_the_input(registry: ToolRegistry, raw: str) -> None:
    assert refusal(registry, "read_file", raw).detail.count("A") <= 210


def test_models_pay_for_no_words_of_a_schema_that_tell_them_nothing() -> None:
    class Part(BaseModel):
        title: str | None = None

    class Given(BaseModel):
        """What it takes."""

        parts: list[Part]
        kind: int | str | None = None

    assert schema_of(Given) == {
        "$defs": {"Part": {"properties": {"title": {"type": "string"}}, "type": "object"}},
        "properties": {
            "parts": {"items": {"$ref": "#/$defs/Part"}, "type": "array"},
            "kind": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "required": ["parts"],
        "type": "object",
        "additionalProperties": False,
    }
