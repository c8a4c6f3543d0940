"""Do three windows agree: the one that is configured, the catalog's, and the one the endpoint itself tells?"""

from __future__ import annotations

from msgspec import Struct

from foreword.core.catalog import Catalog, ModelSpec
from foreword.core.endpoint import Endpoint, profiles
from foreword.engine.findings import Finding
from foreword.engine.observed import Observed
from foreword.errors import UnknownModel


class Windows(Struct, frozen=True, kw_only=True):
    """Tokens of input and output together; None: not configured, not in the catalog, not told.

    ``assumed``: what requests are compiled for: the configured one, else the catalog's. ``observed_input``: where the
    endpoint tells the largest prompt instead; it is then compared with ``assumed_input``.
    """

    configured: int | None
    catalog: int | None
    assumed: int | None
    observed: int | None
    observed_input: int | None
    assumed_input: int | None
    trained: int | None


def windows(model: str, configured: int | None, observed: Observed | None, catalog: Catalog) -> Windows:
    """Gather the windows of a model."""
    spec = _spec(model, catalog)
    assumed = configured if configured is not None else spec.window if spec else None
    largest = None if assumed is None else min(assumed, spec.max_input or assumed) if spec else assumed
    return Windows(
        configured=configured,
        catalog=spec.window if spec else None,
        assumed=assumed,
        observed=observed.window if observed else None,
        observed_input=observed.max_input if observed else None,
        assumed_input=largest,
        trained=observed.trained if observed else None,
    )


def check_windows(
    model: str, endpoint: Endpoint, found: Windows, catalog: Catalog, *, answered: bool
) -> list[Finding]:
    """Compare them. What is assumed too large fails or, worse, loses text in silence; too small wastes the model.

    ``answered``: whether the endpoint could be asked at all.
    """
    silent = profiles()[endpoint.name].overflow.silent
    findings: list[Finding] = []
    if found.catalog is None:
        close = _close(model, catalog)
        text = f"model {model} is not in the catalog{f' (close: {close})' if close else ''}: no price and no rules"
        move = "use a name that `foreword models` lists, or describe the model in a file: --catalog FILE"
        findings.append(Finding(code="model_unknown", level="warning", text=text, move=move))
    true, assumed, what = found.observed, found.assumed, "window"
    if true is None and found.observed_input is not None:
        true, assumed, what = found.observed_input, found.assumed_input, "largest prompt"
    source = f"{endpoint.shown} serves"
    if true is None:
        if answered:
            text = f"{endpoint.shown} does not tell the window of {model}"
            findings.append(Finding(code="window_not_told", level="note", text=text))
        true, source = found.catalog, "the catalog says"
    if true is None or assumed is None:
        if assumed is None and true is not None:
            text = f"{source} {true:,} tokens for {model}, and nothing is configured"
            findings.append(
                Finding(
                    code="window_not_configured", level="warning", text=text, move=f"set the window to {true}"
                )
            )
        return findings
    told = f"{what} of {model}: {assumed:,} assumed, {source} {true:,}"
    if assumed < true:
        text = f"{told}; {1 - assumed / true:.0%} of it is never used"
        move = f"set the window to {true}, unless the smaller one is meant"
        findings.append(Finding(code="window_too_small", level="warning", text=text, move=move))
    elif assumed > true:
        fate = "is cut in silence" if silent else "will be refused"
        text = f"{told}; a longer prompt {fate}"
        findings.append(
            Finding(code="window_too_large", level="problem", text=text, move=f"set the window to {true}")
        )
    else:
        findings.append(Finding(code="window", level="ok", text=told))
    if found.trained is not None and found.observed is not None and found.observed < found.trained:
        text = f"{model} could hold {found.trained:,} tokens; it is served with {found.observed:,}"
        findings.append(Finding(code="window_below_model", level="note", text=text))
    return findings


def _spec(model: str, catalog: Catalog) -> ModelSpec | None:
    try:
        return catalog.model(model)
    except UnknownModel:
        return None


def _close(model: str, catalog: Catalog) -> str:
    try:
        catalog.model(model)
    except UnknownModel as error:
        return ", ".join(error.close)
    return ""
