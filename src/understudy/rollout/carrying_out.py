"""A definition as the one who carries it out is told it, whether or not it is in force."""

from understudy.rollout.files import bundle_of
from understudy.rollout.model import Rollout
from understudy.skills.access import AccessReason
from understudy.skills.bundles.manifest import Manifest
from understudy.skills.catalogue import Loaded
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.instructions import Params, rendered
from understudy.skills.model import SkillOrigin
from understudy.skills.tools.fork import task_of


def task_for(rollout: Rollout, params: Params) -> str:
    """The same words that `use_skill` would have a sidechain carry out; a `ToolError` for params."""
    return task_of(rendered(loaded_from(rollout), params))


def offered_from(rollout: Rollout) -> CatalogueEntry:
    """What is told of the skill before its body is read."""
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
    )


def loaded_from(rollout: Rollout) -> Loaded:
    """The skill in full, from the record alone."""
    definition = rollout.definition
    return Loaded(
        offered=offered_from(rollout),
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
