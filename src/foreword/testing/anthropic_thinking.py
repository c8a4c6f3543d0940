"""Follow a request's thinking blocks back to what the server signed."""

from __future__ import annotations

from hashlib import blake2b

from foreword.testing.anthropic_request import AnthropicRequest, Block, Thought
from foreword.testing.thinking_book import Signed, State, ThinkingBook, grown
from foreword.testing.wire import text_of

THINKING = frozenset({"thinking", "redacted_thinking"})


def trace(request: AnthropicRequest, book: ThinkingBook, *, accept_foreign: bool) -> None:
    """Compare every thinking block with what was signed; note on the request where an answer continues.

    The prefix of a block is `system`, the tools that are not deferred, and every earlier message without its
    thinking; the string and the block form of a text are the same prefix. Text before the block in its own
    message may be there or not. A compaction block of ours stands for what it summarised.
    """
    state = _opening(request)
    thoughts: list[Thought] = []
    last: str | None = None
    for at, message in enumerate(request.messages):
        reached = {state}
        for index, block in enumerate(message.blocks):
            if block.kind in THINKING:
                signature = _signature(block)
                signed = book.find(signature)
                thoughts.append(_thought(at, index, block, signed, reached, last, accept_foreign))
                last = signature
            else:
                resumed = _resumed(block, book) if block.kind == "compaction" else None
                state = resumed or grown(state, message.role.encode(), block.digest)
                reached.add(state)
    request.thoughts = tuple(thoughts)
    request.prefix = state
    request.last_signature = last


def remember(book: ThinkingBook, blocks: tuple[Block, ...], request: AnthropicRequest) -> None:
    """Note the thinking of an answer as issued after a request that was traced."""
    last = request.last_signature
    for block in blocks:
        if block.kind in THINKING:
            signature = _signature(block)
            book.remember(signature, _text(block), request.prefix, last)
            last = signature


def _opening(request: AnthropicRequest) -> State:
    tools = b"".join(
        digest
        for digest, tool in zip(request.tool_digests, request.tools, strict=True)
        if tool.get("defer_loading") is not True
    )
    system = b"".join(block.digest for block in request.system)
    return blake2b(b"\0".join((tools, system)), digest_size=16).digest()


def _thought(
    at: int,
    index: int,
    block: Block,
    signed: Signed | None,
    reached: set[State],
    last: str | None,
    accept_foreign: bool,
) -> Thought:
    path = f"messages.{at}.content.{index}"
    if signed is None:
        return Thought(path, (at, index), accept_foreign, True, True)
    return Thought(
        path,
        (at, index),
        genuine=signed.text == _text(block),
        prefix_holds=signed.prefix in reached,
        # Thinking may be cut from the front: the first block kept needs no predecessor.
        chain_holds=last is None or signed.predecessor == last,
    )


def _resumed(block: Block, book: ThinkingBook) -> State | None:
    return book.resume(text_of(block.data.get("signature")), text_of(block.data.get("content")))


def _signature(block: Block) -> str:
    return text_of(block.data.get("signature")) or text_of(block.data.get("data"))


def _text(block: Block) -> str:
    return text_of(block.data.get("thinking"))
