"""Stats: what fills a session's context, and what was spent, as recorded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from foreword.core.block import ToolCall
from foreword.core.event import Answered, Draft, Said, ToolReturned
from foreword.core.ledger import Kind, once, rows, total
from foreword.core.prices import Prices
from foreword.core.tokens import counter
from foreword.core.usage import INPUT, NOTHING
from foreword.evals.cost import UNKNOWN, figures
from foreword.evals.facts import CATEGORIES, Row, rows_of
from foreword.evals.reads import reads
from foreword.importers.imported import Imported

TOP = 10
REPEATED_FROM = 200
"""Characters from which the same text twice is worth naming."""


def totals(imported: Imported) -> dict[str, Any]:
    """Return the counts of a session. ``tokens``: of its text, as counted. ``usage`` None: none known."""
    answers = _answers(imported.drafts)
    usages = [answer.usage for answer in answers if answer.usage is not None]
    return {
        "messages": sum(isinstance(draft.body, Said | Answered | ToolReturned) for draft in imported.drafts),
        "steps": len(answers),
        "tool_calls": sum(
            isinstance(block, ToolCall) for answer in answers for block in answer.message.blocks
        ),
        "tokens": sum(row.tokens for row in rows_of(imported.drafts) if row.category != "unseen"),
        "usage": msgspec.to_builtins(sum(usages, NOTHING)) if usages else None,
    }


def stats(imported: Imported, prices: Prices | None = None) -> dict[str, Any]:
    """Return the figures of one session. Tokens are the counter's, usage is the record's, and so is cost by ``prices``.

    None: those of the catalog.
    """
    texts = rows_of(imported.drafts)
    answers = _answers(imported.drafts)
    by_category: dict[str, int] = dict.fromkeys(CATEGORIES, 0)
    for row in texts:
        by_category[row.category] += row.tokens
    return {
        "session": imported.session,
        "format": imported.format,
        "source": imported.source,
        "messages": sum(isinstance(draft.body, Said | Answered | ToolReturned) for draft in imported.drafts),
        "steps": len(answers),
        "tool_calls": sum(row.category == "call" for row in texts),
        "tokens": {
            "total": sum(by_category.values()),
            "exact": counter().exact and not by_category["unseen"],
            "by_category": by_category,
            "uncounted_media": sum(row.media for row in texts),
        },
        "by_step": _by_step(texts, answers),
        "tools": _tools(texts),
        "repeated": _repeated(texts),
        "reads": reads(texts),
        **_spent(imported, prices or Prices()),
        "warnings": [{"code": flaw.code, "where": flaw.where, "text": flaw.text} for flaw in imported.flaws],
    }


def _answers(drafts: Sequence[Draft]) -> list[Answered]:
    return [draft.body for draft in drafts if isinstance(draft.body, Answered)]


def _by_step(rows: Sequence[Row], answers: Sequence[Answered]) -> list[dict[str, Any]]:
    """Return what each step added to the context, and how large the context was that its call read."""
    added: dict[int, dict[str, int]] = defaultdict(dict)
    answered: Counter[int] = Counter()
    for row in rows:
        if row.category in ("answer", "reasoning", "call"):
            answered[row.step] += row.tokens
        else:
            new = added[row.step]
            new[row.category] = new.get(row.category, 0) + row.tokens
    steps: list[dict[str, Any]] = []
    context = 0
    for number, answer in enumerate(answers, 1):
        context += sum(added[number].values())
        usage = answer.usage
        steps.append(
            {
                "step": number,
                "added": added[number],
                "context": context,
                "answer": answered[number],
                "input": usage.total_input if usage else None,
                "cache_read": usage.cache_read if usage else None,
                "output": usage.output if usage else None,
            }
        )
        context += answered[number]
    return steps


def _tools(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return each tool's calls and tokens, the heaviest first."""
    calls: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    returned: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for row in rows:
        name = row.tool or "(unknown)"
        if row.category == "call":
            calls[name] += 1
            sent[name] += row.tokens
        elif row.category == "result":
            returned[name] += row.tokens
            errors[name] += row.is_error
    names = sorted(calls | returned, key=lambda name: (-sent[name] - returned[name], name))
    return [
        {
            "tool": name,
            "calls": calls[name],
            "argument_tokens": sent[name],
            "result_tokens": returned[name],
            "errors": errors[name],
        }
        for name in names
    ]


def _repeated(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the texts that came into the context more than once; ``tokens``: what the later copies cost."""
    seen: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.category in ("person", "said", "result") and len(row.text) >= REPEATED_FROM:
            seen[row.text].append(row)
    copies = [found for found in seen.values() if len(found) > 1]
    copies.sort(key=lambda found: (-(len(found) - 1) * found[0].tokens, found[0].fact))
    return {
        "contents": len(copies),
        "copies": sum(len(found) - 1 for found in copies),
        "tokens": sum((len(found) - 1) * found[0].tokens for found in copies),
        "top": [
            {
                "steps": [row.step for row in found],
                "tool": found[0].tool,
                "tokens": found[0].tokens,
                "begins": found[0].text[:80],
            }
            for found in copies[:TOP]
        ],
    }


def _spent(imported: Imported, prices: Prices) -> dict[str, Any]:
    """Return the bill of the session as ``foreword cost`` has it, and what is asked of it here.

    ``calls_without_usage`` are in no sum; ``unknown``: calls whose cost is not known, which is in none either.
    ``lacking``: of the calls with usage those that don't tell a bucket, by its name.
    """
    kind: Kind = "sub_context" if imported.sub_context else "call"
    called = rows(
        imported.drafts, session=imported.session, prices=prices, kind=kind, project=imported.project
    )
    listed = list(once(called))
    sums = total(listed)
    found = figures(sums)
    whole = None if sums.lacking.keys() & INPUT else sums.usage.total_input
    output = None if "output" in sums.lacking else sums.usage.output
    return {
        "usage": found["usage"],
        "calls_without_usage": found["without_usage"],
        "lacking": found["lacking"],
        "models": dict(Counter(row.model or UNKNOWN for row in listed)),
        "cost_usd": found["cost_usd"] if listed else None,
        "unknown": found["unknown"],
        "cost_unknown": found["unknown_names"] if listed else ["usage"],
        "recorded_cost_usd": found["recorded_cost_usd"],
        "cache_hit_rate": None if sums.hit_rate is None else round(sums.hit_rate, 4),
        "input_to_output": _share(whole, output) if sums.counted else None,
    }


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else round(part / whole, 4)
