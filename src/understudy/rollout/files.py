"""A promoted skill from its definition alone: its files, its catalogue entry and its task."""

import json
from collections.abc import Iterator
from functools import lru_cache

from understudy.core.errors import UnderstudyError
from understudy.rollout.model import Definition, Rollout, runtime_json
from understudy.skills.access import AccessReason
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.document import FENCE
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.bundles.manifest import Manifest, parse
from understudy.skills.catalogue import LoadedSkill
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.instructions import Params, rendered
from understudy.skills.model import SkillOrigin
from understudy.skills.runtime_settings import RUNTIME_FILE, settings_of
from understudy.skills.tools.fork import task_of


@lru_cache(maxsize=128)
def bundle_of(definition: Definition) -> Bundle:
    """SKILL.md and the runtime file; the same definition always gives the same bytes."""
    runtime = runtime_json(definition.runtime)
    return Bundle(
        {
            MANIFEST: "\n".join(_manifest(definition)).encode(),
            RUNTIME_FILE: "".join(f"{_field(*each)}\n" for each in runtime.items()).encode(),
        }
    )


def reads_back(definition: Definition) -> bool:
    """Whether the files parse back to exactly this definition."""
    try:
        bundle = bundle_of(definition)
        reading = parse(bundle.manifest_text)
        runtime = settings_of(bundle)
    except UnderstudyError:
        return False
    manifest = reading.manifest
    said = Definition(
        skill_name=manifest.name,
        description=manifest.description,
        instructions=reading.body.strip(),
        when_to_use=manifest.when_to_use or None,
        version=manifest.version_label or None,
        runtime=runtime,
    )
    return said == definition


def field_at(definition: Definition, path: str, line: int) -> str:
    """The field of a definition that stands on a line of one of its files."""
    if path == RUNTIME_FILE:
        names = tuple(runtime_json(definition.runtime))
        return names[line - 1] if 0 < line <= len(names) else "instructions"
    # The first line is the fence.
    names = tuple(frontmatter_of(definition))
    name = names[line - 2] if 1 < line <= len(names) + 1 else "instructions"
    return "skill_name" if name == "name" else name


def _manifest(definition: Definition) -> Iterator[str]:
    yield FENCE
    yield from (_field(*each) for each in frontmatter_of(definition).items())
    yield FENCE
    yield ""
    yield definition.instructions
    yield ""


def frontmatter_of(definition: Definition) -> dict[str, str]:
    """The frontmatter fields of SKILL.md."""
    said = {
        "name": definition.skill_name,
        "description": definition.description,
        "version": definition.version,
        "when_to_use": definition.when_to_use,
    }
    return {name: value for name, value in said.items() if value}


def _field(name: str, value: object) -> str:
    """A line of YAML; a JSON value is valid YAML."""
    return f"{name}: {json.dumps(value, ensure_ascii=False)}"


def task_for(rollout: Rollout, params: Params) -> str:
    """The task that `use_skill` would give to a sidechain; raises `ToolError` for wrong params."""
    return task_of(rendered(loaded_skill_of(rollout), params))


def catalogue_entry_of(rollout: Rollout) -> CatalogueEntry:
    """The catalogue entry of a promoted skill."""
    definition = rollout.definition
    return CatalogueEntry(
        slug=definition.skill_name,
        name=definition.skill_name,
        description=definition.description,
        origin=SkillOrigin.PROMOTED,
        version=None,
        version_label=definition.version,
        digest=rollout.digest,
        skill_id=None,
        reason=AccessReason.PUBLIC,
        when_to_use=definition.when_to_use or "",
        context=definition.runtime.context,
        derived_from_untrusted=rollout.derived_from_untrusted,
    )


def loaded_skill_of(rollout: Rollout) -> LoadedSkill:
    """The loaded skill, from its record alone."""
    definition = rollout.definition
    return LoadedSkill(
        offered=catalogue_entry_of(rollout),
        manifest=Manifest(
            name=definition.skill_name,
            description=definition.description,
            version_label=definition.version or "",
            when_to_use=definition.when_to_use or "",
        ),
        body=definition.instructions,
        bundle=bundle_of(definition),
        folder=None,
        settings=definition.runtime,
        fingerprint=definition.fingerprint,
    )
