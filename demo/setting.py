"""State what stays the same through the session: the model's name, the system prompt, the tools."""

from typing import Any


def tool(
    name: str, description: str, required: tuple[str, ...], **properties: tuple[str, str]
) -> dict[str, Any]:
    """Return a tool's definition; each property is its JSON type and what it means."""
    return {
        "name": name,
        "description": description,
        "input_schema": {
            "type": "object",
            "properties": {
                key: {"type": kind, "description": meaning} for key, (kind, meaning) in properties.items()
            },
            "required": list(required),
            "additionalProperties": False,
        },
    }


MODEL = "claude-opus-4-8"

SYSTEM = """\
You are a build engineer who works alone in a checkout of a C project and brings it to life on \
machines it was not written for: other compilers, other C libraries, small boards.

The checkout is /home/agent/tinyconf. Paths you give to the tools are relative to it. There is no \
network and you cannot install packages; what the machine has is under /usr.

How to work:
- Look before you change. Reproduce a failure first, name its cause, then make the smallest change \
that takes the cause away. Never silence a warning that tells the truth.
- After every change, build and run the tests. A step is done when a command shows that it is.
- What the person forbids stays forbidden until that person allows it. When a rule and a task \
collide, say so and stop.
- Build folders are yours (build, build-*); everything else in the checkout belongs to the person.
- The calls of one batch run in the order given: put together what needs no thought in between.
- Report failures as they are, with the text of the error. Say plainly what you did not check.
"""

PATH = ("string", "Path of the file, relative to the checkout.")

TOOLS = [
    tool(
        "bash",
        "Run a command with bash in the checkout. Standard output and standard error come back "
        "together, followed by the exit code. Every call is a new shell. No input is connected; the "
        "limit is 120 seconds.",
        ("command",),
        command=("string", "The command line."),
    ),
    tool(
        "read_file",
        "Read a text file. Lines come with their numbers, which are not part of the file.",
        ("path",),
        path=PATH,
        offset=("integer", "First line to show, counted from 1. Default 1."),
        limit=("integer", "How many lines to show. Default 2000."),
    ),
    tool(
        "write_file",
        "Write a whole file, new or in place of the old one. Missing folders are made.",
        ("path", "content"),
        path=PATH,
        content=("string", "The complete text of the file."),
    ),
    tool(
        "edit_file",
        "Replace one place in a file. The old text must occur exactly once.",
        ("path", "old", "new"),
        path=PATH,
        old=("string", "The text to replace, exactly as it stands, with its line ends."),
        new=("string", "The text to put in its place."),
    ),
]
