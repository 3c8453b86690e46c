"""What is said when something was published."""

from typing import TYPE_CHECKING

from understudy.cli.candidates_shown import related
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.wire.learnings import PublishedView


def tell_published(view: "PublishedView") -> None:
    """The id of the learning on stdout, and what is worth knowing about it beside that."""
    print(view.learning_id)
    for line in published_lines(view):
        note(line)


def published_lines(view: "PublishedView") -> list[str]:
    """What became of a publication, and what says otherwise elsewhere."""
    lines = [f"learning {view.learning_id} is {view.status}"]
    if view.supersedes:
        lines.append(f"  it takes the place of {view.supersedes}")
    if view.status == "provisional":
        lines.append("  no prompt is told of it while it is provisional")
    if view.sensitivity == "sensitive":
        lines.append("  it is sensitive: no prompt and no search tells of it")
    lines += [f"  it contradicts {related(each)}" for each in view.contradicts]
    if view.contradicts:
        lines.append("  in a prompt the narrower scope wins")
    return lines
