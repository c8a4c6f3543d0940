"""What a history can say of itself in the wire's own form, so that no epoch is needed; and blocks that open one.

The catalog names the forms a model has, the codec those its wire can write; where either lacks one, the change is
an epoch (docs/decisions/0008-provider-features.md).
"""

from __future__ import annotations

from foreword.compiler.policy import Policy
from foreword.core.block import Opaque
from foreword.core.event import OWN_ORIGINS, Answered, Changed, RequestSent
from foreword.core.request import Compaction
from foreword.core.target import Target
from foreword.core.view import Change, Epoch, Interaction, View


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


def compaction_in(interaction: Interaction, target: Target) -> Compaction | None:
    """Return what is known of the newest block of a response that stands for what came before; None: none does."""
    for block in reversed(interaction.message.blocks):
        found = target.codec.compaction(block) if isinstance(block, Opaque) else None
        if found is not None and found.place != "nowhere":
            return found
    return None


def opening_block(view: View, policy: Policy, target: Target) -> Interaction | None:
    """Return the newest response whose compaction block may open a base; None: the base comes from the record.

    This model gave it to us on this wire, and nothing was revoked or erased since it was asked for: what it
    stands for can't be read, so nothing can be taken out of it. One that a caller's own list began with stands for
    what was never recorded: it opens the base under every policy.
    """
    fold = view.fold
    for interaction in reversed(fold.compactions):
        since = _asked_at(view, target, interaction)
        if since is None or fold.rebuild >= since or compaction_in(interaction, target) is None:
            continue
        if policy.layout == "provider" or since == interaction.seq:
            return interaction
    return None


def _asked_at(view: View, target: Target, interaction: Interaction) -> int | None:
    """Return the seq of the request that a block answers, or its own when a caller brought it; None: not ours."""
    fold = view.fold
    event = fold.events[interaction.seq]
    body = event.body
    if not isinstance(body, Answered) or event.origin not in OWN_ORIGINS:
        return None
    asked = (target.codec.wire, target.params.model)
    if body.request is None:
        begun = next((epoch.body for epoch in fold.epochs if epoch.seq > interaction.seq), None)
        known = begun is None or (begun.wire, begun.model) == asked
        first = interaction.covers == 0 and body.message.wire == target.codec.wire
        return interaction.seq if known and first else None
    sent = fold.events[body.request].body
    same = isinstance(sent, RequestSent) and (sent.wire, sent.model) == asked
    return body.request if same else None
