"""Who wrote the text of a user record: a person, or the tool in a person's name."""

from collections.abc import Iterator, Sequence
from typing import Any

from foreword.core.event import Trust

# Starts of text that Claude Code writes into user records itself (versions 1.9 to 2.1.220).
SYNTHETIC: tuple[tuple[str, Trust], ...] = (
    ("<system-reminder>", "foreign"),
    ("<local-command-caveat>", "foreign"),
    ("<local-command-stdout>", "tool"),
    ("<local-command-stderr>", "tool"),
    ("<command-name>", "foreign"),
    ("<command-message>", "foreign"),
    ("<command-args>", "foreign"),
    ("<bash-input>", "foreign"),
    ("<bash-stdout>", "tool"),
    ("<bash-stderr>", "tool"),
    ("<task-notification>", "tool"),
    ("<user-prompt-submit-hook>", "tool"),
    ("<user-memory-input>", "foreign"),
    ("<teammate-message", "tool"),
    ("<ide_opened_file>", "foreign"),
    ("<ide_selection>", "foreign"),
    ("<new-diagnostics>", "tool"),
    ("<tick>", "foreign"),
    ("[Request interrupted", "foreign"),
    ("[Image: source:", "foreign"),
    ("Caveat: The messages below", "foreign"),
    ("This session is being continued from a previous conversation", "foreign"),
    ("Base directory for this skill:", "foreign"),
)
HUMAN_ORIGINS = frozenset({"human", "cli", "user"})
REMINDER, REMINDER_END = "<system-reminder>", "</system-reminder>"


def author(text: str) -> Trust:
    """Return whose word a text of a user record is: "person" unless it starts like the tool's own."""
    start = text.lstrip()
    for prefix, trust in SYNTHETIC:
        if start.startswith(prefix):
            return trust
    return "person"


def written_by_person(data: dict[str, Any]) -> bool:
    """Say whether the record as a whole can hold a person's words."""
    origin = data.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return data.get("isMeta") is not True and (not isinstance(kind, str) or kind in HUMAN_ORIGINS)


def by_author(content: Sequence[Any], *, human: bool) -> Iterator[tuple[Trust, list[Any]]]:
    """Split blocks into runs of one author, in order; tool results are left out.

    Pictures and documents belong to the text before them. `human` False: no block is a person's.
    """
    runs: list[tuple[Trust, list[Any]]] = []
    default: Trust = "person" if human else "foreign"
    for block in split_reminders(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_result":
            continue
        trust: Trust = runs[-1][0] if runs else default
        if kind == "text" and (trust := author(str(block.get("text", "")))) == "person":
            trust = default
        if runs and runs[-1][0] == trust:
            runs[-1][1].append(block)
        else:
            runs.append((trust, [block]))
    yield from runs


def split_reminders(content: Sequence[Any]) -> Iterator[Any]:
    """Give leading reminders that share a text block with other words a block of their own."""
    for block in content:
        text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
        end = _reminders_end(text) if isinstance(text, str) else 0
        if isinstance(text, str) and end > 0 and text[end:].strip():
            yield {"type": "text", "text": text[:end]}
            yield {**block, "text": text[end:].lstrip("\n")}
        else:
            yield block


def _reminders_end(text: str) -> int:
    """Return where the reminders that a text starts with end; 0: it starts with none."""
    end = 0
    while True:
        start = end
        while start < len(text) and text[start].isspace():
            start += 1
        close = text.find(REMINDER_END, start) if text.startswith(REMINDER, start) else -1
        if close < 0:
            return end
        end = close + len(REMINDER_END)
