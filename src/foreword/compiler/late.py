"""What a history can say of itself in the wire's own form, so that no epoch is needed.

The catalog names the forms a model has, the codec those its wire can write; where either lacks one, the change is
an epoch (docs/decisions/0008-provider-features.md).
"""

from __future__ import annotations

from foreword.core.event import Changed
from foreword.core.target import Target
from foreword.core.view import Change, Epoch, View


def late_change(view: View, target: Target, epoch: Epoch) -> Changed | None:
    """Return what is asked for now and was not so far in this epoch; None: nothing."""
    fold = view.fold
    effort = target.effort if target.effort != fold.effort else None
    offered = {tool.name: tool for tool in fold.offered}
    wanted = {tool.name for tool in fold.tools[1]}
    added = tuple(tool for tool in fold.tools[1] if offered.get(tool.name) != tool)
    removed = tuple(name for name in offered if name not in wanted)
    if fold.tools[0] <= epoch.seq or epoch.tools[0] == fold.tools[0]:
        added, removed = (), ()
    return Changed(added=added, removed=removed, effort=effort) if added or removed or effort else None


def can_say(view: View, target: Target, epoch: Epoch, change: Changed) -> bool:
    """Whether the history can say a change: the forms exist, and no tool's name was used before in this epoch.

    A tool that changed, or one that comes back, would stand beside its old self.
    """
    fold = view.fold
    if not fold.sent or fold.sent[-1].seq < epoch.seq:
        return False
    spec = target.spec
    names = [tool.name for tool in change.added]
    return (
        (not names or target.says(spec.late_tools))
        and (not change.removed or target.says(spec.late_removal))
        and (change.effort is None or target.says(spec.late_effort))
        and len(set(names)) == len(names)
        and _used(view, epoch).isdisjoint(names)
    )


def _used(view: View, epoch: Epoch) -> set[str]:
    names = {tool.name for tool in epoch.tools[1]}
    for item in view.fold.items[epoch.items :]:
        if isinstance(item, Change):
            names |= {tool.name for tool in item.body.added}
    return names | ({epoch.body.read_tool} if epoch.body.read_tool is not None else set[str]())
