"""Who wrote the text of a Codex user message: a person, or the tool in a person's name."""

from collections.abc import Sequence

from foreword.core.block import Block, Text
from foreword.core.event import Trust

# Starts of text that Codex writes into user messages itself (versions 0.30 to 0.146).
SYNTHETIC: tuple[tuple[str, Trust], ...] = (
    ("<environment_context>", "foreign"),
    ("<user_instructions>", "foreign"),
    ("# AGENTS.md instructions", "foreign"),
    ("<INSTRUCTIONS>", "foreign"),
    ("<skill>", "foreign"),
    ("<skills_instructions>", "foreign"),
    ("<apps_instructions>", "foreign"),
    ("<plugins_instructions>", "foreign"),
    ("<permissions instructions>", "foreign"),
    ("<collaboration_mode>", "foreign"),
    ("<personality_spec>", "foreign"),
    ("<model_switch>", "foreign"),
    ("<goal_context>", "foreign"),
    ("<turn_aborted>", "foreign"),
    ("<user_shell_command>", "tool"),
    ("<subagent_notification>", "tool"),
    ("<hook_prompt", "tool"),
)


def by_author(blocks: Sequence[Block], default: Trust) -> list[tuple[Trust, tuple[Block, ...]]]:
    """Part blocks into runs of one author, in order. Pictures belong to the text before them."""
    runs: list[tuple[Trust, list[Block]]] = []
    for block in blocks:
        trust = runs[-1][0] if runs else default
        if isinstance(block, Text):
            trust = _author(block.text) or default
        if runs and runs[-1][0] == trust:
            runs[-1][1].append(block)
        else:
            runs.append((trust, [block]))
    return [(trust, tuple(run)) for trust, run in runs]


def _author(text: str) -> Trust | None:
    start = text.lstrip()
    return next((trust for prefix, trust in SYNTHETIC if start.startswith(prefix)), None)
