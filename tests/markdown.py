"""Read what the documentation promises: fenced blocks, console sessions, links and headings."""

import re
from dataclasses import dataclass

FENCE = re.compile(r"(`{3,}|~{3,})[ ]*([^`]*)")
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after its fence, its text, and the line where the text starts (1-based)."""

    words: tuple[str, ...]
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One command of a console block and the output shown under it, line by line."""

    text: str
    shown: tuple[str, ...]
    line: int


def blocks(markdown: str) -> list[Block]:
    """List the fenced blocks of a page, in order."""
    found: list[Block] = []
    fence, words, start, held = "", (), 0, list[str]()
    for number, line in enumerate(markdown.splitlines(), start=1):
        match = FENCE.fullmatch(line.strip())
        if not fence and match:
            fence, words, start, held = match[1], tuple(match[2].split()), number + 1, []
        elif fence and match and match[1].startswith(fence) and not match[2]:
            found.append(Block(words, "\n".join(held) + "\n", start))
            fence = ""
        elif fence:
            held.append(line)
    if fence:
        raise ValueError(f"the fence before line {start} is never closed")
    return found


def commands(block: Block) -> list[Command]:
    """Split a console block into its commands; a line that ends in a backslash goes on in the next."""
    found: list[Command] = []
    unfinished = False
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if unfinished:
            last = found.pop()
            found.append(Command(f"{last.text} {line.strip().removesuffix(chr(92)).strip()}", (), last.line))
        elif line.startswith("$ "):
            found.append(Command(line[2:].removesuffix("\\").strip(), (), number))
        elif found:
            last = found.pop()
            found.append(Command(last.text, (*last.shown, line), last.line))
        unfinished = line.endswith("\\") and (unfinished or line.startswith("$ "))
    return found


def first_unmet(shown: tuple[str, ...], printed: str) -> str | None:
    """Name the first shown line that the printed text does not meet, or None.

    Runs of spaces count as one and blank lines not at all.
    `...` or `…` stands for any text within a line, and alone on a line for any lines.
    """
    have = [" ".join(line.split()) for line in printed.splitlines() if line.strip()]
    want = [" ".join(line.split()) for line in shown if line.strip()]
    at, skip = 0, False
    for line in want:
        if line in {"...", "…"}:
            skip = True
            continue
        match = next((i for i in range(at, len(have)) if _same(line, have[i])), None)
        if match is None or (match != at and not skip):
            return line
        at, skip = match + 1, False
    return None if skip or at == len(have) or not want else f"(nothing more, but there is: {have[at]})"


def _same(shown: str, printed: str) -> bool:
    """Compare one line: its fixed parts stand in order, the outer ones at the ends."""
    parts = [part.strip() for part in shown.replace("…", "...").split("...")]
    if len(parts) == 1:
        return shown == printed
    if not printed.startswith(parts[0]) or not printed[len(parts[0]) :].endswith(parts[-1]):
        return False
    at, end = len(parts[0]), len(printed) - len(parts[-1])
    for part in parts[1:-1]:
        at = printed.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def prose(markdown: str) -> str:
    """Blank out fenced blocks and code spans, which hold no links or headings."""
    lines = markdown.splitlines()
    for block in blocks(markdown):
        end = block.line - 1 + len(block.text.splitlines())
        lines[block.line - 2 : end + 1] = [""] * len(lines[block.line - 2 : end + 1])
    return re.sub(r"`[^`\n]*`", lambda code: code.group().strip("`").replace("](", "] ("), "\n".join(lines))


def links(markdown: str) -> list[str]:
    """List the targets of a page's links, in order."""
    return LINK.findall(prose(markdown))


def anchors(markdown: str) -> set[str]:
    """List the names that a link may put behind `#`, one a heading, numbered when they repeat."""
    found: set[str] = set()
    for line in prose(markdown).splitlines():
        if heading := re.fullmatch(r"#{1,6} +(.+)", line):
            slug = re.sub(r"[^\w\- ]", "", heading[1].strip().lower()).replace(" ", "-")
            count = 0
            while (name := f"{slug}-{count}" if count else slug) in found:
                count += 1
            found.add(name)
    return found
