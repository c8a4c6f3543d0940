"""What a history can say of itself, so that no epoch is needed.

The catalog names the forms a model has, the codec those its wire can write; where either lacks one, the change is
an epoch (docs/decisions/0008-provider-features.md). What is only told, by a notice, needs no form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreword.compiler.deferred import to_tell, used
from foreword.compiler.policy import Policy
from foreword.core.block import ToolSpec
from foreword.core.event import Changed
from foreword.core.fold import Epoch
from foreword.core.item import Change
from foreword.core.languages import LANGUAGES
from foreword.core.request import Piece
from foreword.core.target import Target
from foreword.core.view import View


def late_change(view: View, target: Target, epoch: Epoch, policy: Policy) -> Changed | None:
    """Return what is asked for now and was not so far in this epoch; None: nothing."""
    fold = view.fold
    effort = target.effort if target.effort != fold.effort else None
    offered = {tool.name: tool for tool in fold.offered}
    wanted = {tool.name for tool in fold.tools[1]}
    added = tuple(tool for tool in fold.tools[1] if offered.get(tool.name) != tool)
    removed = tuple(name for name in offered if name not in wanted)
    if fold.tools[0] <= epoch.seq or epoch.tools[0] == fold.tools[0]:
        added, removed = (), ()
    names = dict.fromkeys(to_tell(view, target, fold.offered))
    known = set(fold.findable)
    language = language_asked(view, policy)
    change = Changed(
        added=added,
        removed=removed,
        effort=effort,
        findable=tuple(name for name in names if name not in known),
        unfindable=tuple(name for name in fold.findable if name not in names),
        language=language if language != fold.language else None,
    )
    return change if change != Changed() else None


def language_asked(view: View, policy: Policy) -> str:
    """Return the language to answer in, as an ISO 639 code; "": the policy asks for none, or it is not known."""
    detected = view.fold.detected
    return detected[1].language if policy.language_directive and detected is not None else ""


def told(
    target: Target, findable: Sequence[str], unfindable: Sequence[str], language: str | None
) -> Iterator[tuple[str, str]]:
    """Yield (topic, text) of what no wire has a form for, as a base or a notice says it."""
    for names, text in (
        (findable, "Tools that can be loaded when they are needed"),
        (unfindable, "These tools can't be loaded any more"),
    ):
        if names:
            yield "deferred tools", f"{text}: {', '.join(map(target.codec.name, names))}."
    if language:
        name = LANGUAGES.get(language, language)
        yield "language", f"Answer in {name} ({language}), the language of the person's newest message."
    elif language is not None:
        yield "language", "No language is asked for any more."


def causes_of(view: View, change: Changed) -> tuple[int, ...]:
    """Return the events that a change comes from."""
    fold = view.fold
    found: set[int] = set()
    if change.added or change.removed:
        found.add(fold.tools[0])
    if change.findable or change.unfindable:
        found.add(fold.deferred[0])
    if change.language and fold.detected is not None:
        found.add(fold.detected[0])
    return tuple(sorted(found))


def can_say(view: View, target: Target, epoch: Epoch, change: Changed) -> bool:
    """Whether the history can say a change: the forms exist, whoever sends them sends the betas they need, and no

    tool's name was used before in this epoch.

    A tool that changed, or one that comes back, would stand beside its old self; one that is too long to be sent
    would stay in the history.
    """
    fold = view.fold
    if not fold.sent or fold.sent[-1].seq < epoch.seq:
        return False
    spec = target.spec
    names = [target.codec.name(tool.name) for tool in change.added]
    return (
        (not names or target.says(spec.late_tools))
        and (not change.removed or target.says(spec.late_removal))
        and (change.effort is None or target.says(spec.late_effort))
        and (target.betas or not _needs_betas(target, change))
        and len(set(names)) == len(names)
        and not any(_long(target, tool) for tool in change.added)
        and used(view, target).union(fold.loaded).isdisjoint(names)
    )


def said_by_betas(view: View, target: Target, epoch: Epoch) -> bool:
    """Whether a change was said in this epoch in a form that needs a beta header."""
    return any(
        isinstance(item, Change) and _needs_betas(target, item.body)
        for item in view.fold.items[epoch.items :]
    )


def change_pieces(target: Target, change: Changed) -> tuple[list[Piece], list[Piece]]:
    """Return the wire's forms of a change: those of the effort, those of the tools."""
    codec = target.codec
    effort = codec.late_effort(change.effort) if change.effort is not None else []
    return effort, codec.late_tools(change.added, change.removed)


def _needs_betas(target: Target, change: Changed) -> bool:
    return any(piece.betas for pieces in change_pieces(target, change) for piece in pieces)


def _long(target: Target, tool: ToolSpec) -> bool:
    limit = target.spec.max_string_chars
    return limit is not None and len(target.codec.tool(tool).data) > limit
