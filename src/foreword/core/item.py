"""Items: what a view holds of a conversation, in order. The fold of `view` makes and fills them."""

from __future__ import annotations

from foreword.core.block import Message, ToolCall, ToolResult
from foreword.core.event import Changed


class Turn:
    """A message that the model did not write, at event ``seq``. ``kept``: it is never rewritten."""

    __slots__ = ("kept", "message", "person", "seq")

    def __init__(self, seq: int, message: Message, person: bool) -> None:
        self.seq = seq
        self.message = message
        self.person = person
        self.kept = person

    @property
    def events(self) -> tuple[int, ...]:
        return (self.seq,)


class Interaction:
    """An assistant message with its calls and their results, in call order: the atomic piece of history.

    ``results[i]`` and ``result_seqs[i]`` answer ``calls[i]``; None while the call is open. ``unknown``: positions
    whose outcome nothing tells: a repair closed them, or their result was erased. ``message`` and ``calls`` have
    unique call ids; ``recorded`` is the message as it came, and ``recorded_ids`` its calls' ids. ``covers``: how many
    items a compaction block in it stands for; -1: it has none. By position: ``started``, whose tool began;
    ``printed``, the events of its output meanwhile; ``ends``, the event of a result that came when the call was
    answered already.
    """

    __slots__ = (
        "calls",
        "covers",
        "ends",
        "message",
        "printed",
        "recorded",
        "recorded_ids",
        "result_seqs",
        "results",
        "seq",
        "started",
        "unknown",
    )
    person = False
    kept = False

    def __init__(self, seq: int, recorded: Message, message: Message) -> None:
        self.seq = seq
        self.recorded = recorded
        self.message = message
        self.calls = calls = tuple(block for block in message.blocks if isinstance(block, ToolCall))
        self.recorded_ids = tuple(block.id for block in recorded.blocks if isinstance(block, ToolCall))
        self.results: list[ToolResult | None] = [None] * len(calls)
        self.result_seqs: list[int | None] = [None] * len(calls)
        self.unknown: set[int] = set()
        self.started: set[int] = set()
        self.printed: dict[int, list[int]] = {}
        self.ends: dict[int, int] = {}
        self.covers = -1

    @property
    def closed(self) -> bool:
        return None not in self.results

    @property
    def events(self) -> tuple[int, ...]:
        return (self.seq, *(seq for seq in self.result_seqs if seq is not None))


class Notice:
    """Engine text at event ``seq``, kept where it happened. ``kept``: a pin, which every base repeats."""

    __slots__ = ("kept", "seq", "text", "topic")
    person = False

    def __init__(self, seq: int, topic: str, text: str, kept: bool) -> None:
        self.seq = seq
        self.topic = topic
        self.text = text
        self.kept = kept

    @property
    def events(self) -> tuple[int, ...]:
        return (self.seq,)


class Change:
    """A change of what is asked for, at event ``seq``: said in the journal, a part of the next base."""

    __slots__ = ("body", "seq")
    person = False
    kept = False

    def __init__(self, seq: int, body: Changed) -> None:
        self.seq = seq
        self.body = body

    @property
    def events(self) -> tuple[int, ...]:
        return (self.seq,)


Item = Turn | Interaction | Notice | Change
