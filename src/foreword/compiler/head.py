"""The head of a request: keys, tools and system blocks, all that stands before its messages."""

from __future__ import annotations

import msgspec

from foreword.compiler.late import told
from foreword.compiler.placing import Placed
from foreword.compiler.read_tool import READ_TOOL
from foreword.core.block import Text
from foreword.core.fold import Epoch
from foreword.core.frame import frame
from foreword.core.request import Piece
from foreword.core.target import Target


def render_head(target: Target, epoch: Epoch) -> list[Placed]:
    """Return keys, tools and system blocks in render order, as they stood when the epoch began."""
    codec = target.codec
    tools_seq, tools = epoch.tools
    system_seq, blocks = epoch.instructions
    asked = target.with_effort(epoch.body.effort).with_budget(epoch.budget, epoch.body.remaining)
    keys = codec.keys(asked.params)
    placed = [_key(piece) for piece in keys if piece.layer == "tools"]
    for tool in tools:
        why = "stub inferred from recorded calls" if tool.inferred else "declared"
        placed.append(
            Placed(piece=codec.tool(tool), category="tools", events=(tools_seq,), by="base", why=why)
        )
    if epoch.body.read_tool is not None:
        own = msgspec.structs.replace(READ_TOOL, name=epoch.body.read_tool)
        placed.append(
            Placed(
                piece=codec.tool(own),
                category="tools",
                events=(),
                by="base",
                why="reads left-out content back",
            )
        )
    placed += [_key(piece) for piece in keys if piece.layer == "system"]
    for block in blocks:
        if block.text.strip():
            placed.append(
                Placed(
                    piece=codec.system(block),
                    category="instructions",
                    events=(system_seq,),
                    by="base",
                    why="instructions of the agent",
                )
            )
    for topic, text in told(target, epoch.body.findable, (), epoch.body.language or None):
        piece = codec.system(Text(text=frame("notice", text, topic=topic)))
        placed.append(Placed(piece=piece, category="notice", events=(epoch.seq,), by="base", why=topic))
    placed += [_key(piece) for piece in keys if piece.layer == "messages"]
    return placed


def _key(piece: Piece) -> Placed:
    return Placed(piece=piece, category="envelope", events=(), by="base", why=f"invalidates {piece.layer}")
