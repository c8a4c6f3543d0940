"""Follow a request's thinking blocks back to what the server signed."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from foreword.testing.anthropic_request import AnthropicRequest, Block, Thought
from foreword.testing.thinking_book import Signed, State, ThinkingBook, grown
from foreword.testing.wire import text_of

THINKING = frozenset({"thinking", "redacted_thinking"})


def trace(request: AnthropicRequest, book: ThinkingBook, *, accept_foreign: bool) -> None:
    """Compare all thinking and compaction with what was signed; note where an answer would continue.

    The prefix of a block is `system`, the tools that are not deferred, and every earlier message without its
    thinking; the string and the block form of a text are the same prefix. Text before the block in its own
    message may be there or not. A compaction block of ours stands for what it summarised; one made on the way
    opens the prefix.
    """
    state = _opening(request)
    thoughts: list[Thought] = []
    forged: list[str] = []
    last: str | None = None
    for at, message in enumerate(request.messages):
        reached = {state}
        parted: bool | None = (
            None  # by a fallback, from the thinking before it; None: there is none in the message
        )
        for index, block in enumerate(message.blocks):
            if block.kind in THINKING:
                signature = _signature(block)
                signed = book.find(signature, _text(block))
                thoughts.append(_thought(at, index, block, signed, reached, last, parted, accept_foreign))
                last, parted = signature, False
            else:
                if block.kind == "fallback" and parted is not None:
                    parted = True
                resumed = _resumed(block, book) if block.kind == "compaction" else None
                if block.kind == "compaction" and _signature(block) and not (resumed or accept_foreign):
                    forged.append(f"messages.{at}.content.{index}")
                before = _opening(request) if _restarts(block) else state
                state = resumed or grown(before, message.role.encode(), block.digest)
                reached.add(state)
    request.thoughts = tuple(thoughts)
    request.prefix = state
    request.last_signature = last
    request.forged_compactions = tuple(forged)
    request.bare_calls = tuple(_bare_calls(request, book))


def remember(book: ThinkingBook, blocks: tuple[Block, ...], request: AnthropicRequest) -> None:
    """Note the thinking of an answer, and the calls it led to, as issued after a request that was traced."""
    last, own, prefix = request.last_signature, None, request.prefix
    parted = False
    for block in blocks:
        if _restarts(block):
            prefix, last = grown(_opening(request), b"assistant", block.digest), None
        elif block.kind in THINKING and (signature := _signature(block)):  # unsigned, no service gave it
            own = signature
            book.remember(own, _text(block), prefix, last, parted=parted)
            last, parted = own, False
        elif block.kind == "fallback":
            parted = True
        elif block.kind == "tool_use" and own is not None:
            book.called(text_of(block.data.get("id")), own)


def _restarts(block: Block) -> bool:
    """Whether the prefix that is checked begins anew here: a summary made on the way (1.4, 1.5 "Threshold")."""
    return block.kind == "compaction" and bool(block.data.get("content")) and not _signature(block)


def _bare_calls(request: AnthropicRequest, book: ThinkingBook) -> Iterator[str]:
    """Yield the calls of the current turn whose thinking is not sent back.

    The turn begins after the last user message that is more than tool results.
    """
    sent = {_signature(block) for _, _, block in request.blocks(*THINKING)}
    asked = (
        at
        for at in range(len(request.messages) - 1, -1, -1)
        if request.messages[at].role == "user"
        and any(block.kind != "tool_result" for block in request.messages[at].blocks)
    )
    begins = next(asked, -1)
    for at, index, block in request.blocks("tool_use"):
        thought = book.thought_of(text_of(block.data.get("id")))
        if at > begins and thought is not None and thought not in sent:
            yield f"messages.{at}.content.{index}"


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
    parted: bool | None,
    accept_foreign: bool,
) -> Thought:
    path = f"messages.{at}.content.{index}"
    if signed is None:
        return Thought(path, (at, index), accept_foreign, True, True, True)
    return Thought(
        path,
        (at, index),
        genuine=signed.text == _text(block),
        prefix_holds=signed.prefix in reached,
        # Thinking may be cut from the front: the first block kept needs no predecessor.
        chain_holds=last is None or signed.predecessor == last,
        boundary_holds=parted in (None, signed.parted),
    )


def _resumed(block: Block, book: ThinkingBook) -> State | None:
    return book.resume(text_of(block.data.get("signature")), text_of(block.data.get("content")))


def _signature(block: Block) -> str:
    return text_of(block.data.get("signature")) or text_of(block.data.get("data"))


def _text(block: Block) -> str:
    return text_of(block.data.get("thinking"))
