"""The files of a definition read back as they were written, and tell what changed."""

import pytest

from tests.support.rollout_factories import make_definition
from understudy.rollout.files import bundle_of
from understudy.rollout.model import Definition
from understudy.skills.bundles.manifest import parse
from understudy.skills.diff import compare
from understudy.skills.runtime_settings import RuntimeSettings, SkillContext, settings_of

FULL = RuntimeSettings(
    allowed_tools=("read_file", "mcp:*"),
    blocked_tools=("shell",),
    context=SkillContext.FORK,
    agent_profile="verification",
    provider="openai",
    model="small # not a comment",
    fallback_model='the "other" one',
)
DEFINITIONS = {
    "plain": make_definition(),
    "full": make_definition(when_to_use="Before: a release", version="1.10", runtime=FULL),
    "odd": make_definition(
        description="- yes: no # {x} 'y' \"z\" \\n 👩🏽‍🚀 日本",
        instructions='---\nname: other\n---\n# Heading\n\n```yaml\na: "b"\n```',
        when_to_use="!tag &a *b | > % @",
        version="0x10",
    ),
}


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)
def test_the_files_read_back_as_they_were_written(definition: Definition) -> None:
    bundle = bundle_of(definition)
    reading = parse(bundle.manifest_text)
    manifest, body = reading.manifest, reading.body

    assert manifest.name == definition.skill_name
    assert manifest.description == definition.description
    assert manifest.when_to_use == (definition.when_to_use or "")
    assert manifest.version_label == (definition.version or "")
    assert body.strip() == definition.instructions
    assert settings_of(bundle) == definition.runtime


def test_each_field_of_a_definition_shows_in_its_files() -> None:
    plain = bundle_of(make_definition())
    others = {
        "SKILL.md": make_definition(version="2"),
        "agents/understudy.yaml": make_definition(runtime=FULL),
    }

    assert compare(plain, bundle_of(make_definition())).files == ()
    for path, other in others.items():
        assert [file.path for file in compare(plain, bundle_of(other)).files] == [path]
