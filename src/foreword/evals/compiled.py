"""What can be said of one compiled request, or of the refusal to make one."""

from __future__ import annotations

from typing import Any

from foreword.compiler.compile import Compiled
from foreword.compiler.manifest import manifest
from foreword.core.event import Answered
from foreword.engine.session import Session
from foreword.errors import OverBudget
from foreword.evals.replay import REFEREES, facts_of


def described(session: Session, compiled: Compiled) -> dict[str, Any]:
    """Return the manifest of a request.

    ``violations``: what the referee of its wire says; None where none can judge it: it remembers what it
    signed, and it has not seen the earlier requests of a session that is ours.
    """
    answers = [event.body for event in session.events if isinstance(event.body, Answered)]
    target = compiled.target
    row = REFEREES.get(target.codec.wire)
    judged = row is not None and all(answer.request is None for answer in answers)
    violations: list[str] = []
    if judged and row is not None:
        verdict = row[0](facts=facts_of(target, compiled.budget.unseen), seed=0).judge(compiled.body)
        violations = [f"{found.code} at {found.path}: {found.text}" for found in verdict.violations]
    made = manifest(
        compiled,
        session=session.id,
        provider=target.codec.wire,
        step=len(answers) + 1,
        previous=None,
        violations=violations,
    )
    return made if judged else {**made, "violations": None}


def refusal(error: OverBudget) -> dict[str, Any]:
    """Return the facts of a refusal: each required item, its events and its size in counted tokens."""
    return {
        "error": "OverBudget",
        "text": str(error),
        "needed": error.needed,
        "window": error.window,
        "reserve_output": error.reserve_output,
        "unseen": error.unseen,
        "smallest_window": error.smallest_window,
        "required": [
            {"name": name, "events": list(events), "tokens": tokens}
            for name, events, tokens in error.required
        ],
    }
