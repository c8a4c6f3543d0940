"""In which language persons write: looked at before a request is compiled, and recorded where it changed.

The detector and its threshold were measured: docs/decisions/0010-language-detector.md.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from foreword.core.block import plain_text
from foreword.core.event import LanguageDetected, by_engine
from foreword.core.item import Turn
from foreword.core.languages import LANGUAGES
from foreword.core.prose import prose
from foreword.errors import MissingExtra

if TYPE_CHECKING:
    from foreword.engine.session import Session

SURE = 0.7
"""Share of its belief that the detector must put in one language; below it nothing changes."""
SAME = {"wuu": "zh", "yue": "zh", "nn": "no"}
"""Written so much alike that a short text does not tell them apart: the belief in both counts for one."""


@cache
def _detector() -> Any:
    """Load the model, in about a second. Raises: MissingExtra."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise MissingExtra("the policy's language_directive", "language") from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def language_of(text: str) -> str | None:
    """Return the ISO 639 code of the language a text is written in; None: too little of it to be sure.

    Raises: MissingExtra.
    """
    ranked: list[tuple[str, float]] = _detector().rank(prose(text))
    belief: dict[str, float] = {}
    for language, share in ranked:
        one = SAME.get(language, language)
        belief[one] = belief.get(one, 0.0) + share
    best = max(belief, key=belief.__getitem__)
    return best if belief[best] >= SURE and best in LANGUAGES else None


def detect_language(session: Session, since: int) -> None:
    """Record the language of the newest person's message that shows one, if another was recorded before.

    ``since``: events before it were looked at already, unless something was erased since. Raises: MissingExtra.
    """
    fold = session.view.fold
    since = 0 if fold.rebuild >= since else since
    known = fold.detected[1] if fold.detected is not None else None
    oldest = max(since, known.event + 1 if known is not None else 0)
    for item in reversed(fold.items):
        if item.seq < oldest:
            return
        if not isinstance(item, Turn) or not item.person or item.message.role != "user":
            continue
        language = language_of(plain_text(item.message.blocks))
        if language is None:
            continue
        if known is None or known.language != language:
            body = LanguageDetected(language=language, event=item.seq)
            session.append(by_engine(body, item.seq))
        return
