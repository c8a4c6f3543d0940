"""Replay: walk a recorded session and compile, before each recorded model call, the request that Foreword would
have sent. No model and no network: a referee of the wire judges every request and reports usage, which is all
the engine learns of it.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from foreword.compiler.compile import Compiled
from foreword.compiler.manifest import Sketch, manifest
from foreword.compiler.policy import DEFAULT, Policy
from foreword.core.block import Text, Thinking, ToolCall
from foreword.core.event import Answered, Draft, Revoked, Rewritten, UnseenPrefix
from foreword.core.reference import content_bytes
from foreword.core.target import Target
from foreword.core.usage import Usage
from foreword.engine.session import Session
from foreword.errors import EmptyRequest, OverBudget
from foreword.evals.replay_bill import costs, tokens, with_unseen
from foreword.importers.imported import Imported
from foreword.store.store import Store
from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.facts import CHAT, CLAUDE, DEEPSEEK, GEMINI, RESPONSES, ModelFacts
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
from foreword.testing.referee import Referee, Verdict

REFEREES: dict[str, tuple[Callable[..., Referee[Any]], ModelFacts]] = {
    "anthropic": (AnthropicReferee, CLAUDE),
    "openai-chat": (OpenAIChatReferee, CHAT),
    "openai-responses": (OpenAIResponsesReferee, RESPONSES),
    "deepseek": (DeepSeekReferee, DEEPSEEK),
    "gemini": (GeminiReferee, GEMINI),
}
"""Wire -> its referee and what that must know of a model, before the catalog's facts."""


class Keep(Struct, frozen=True, kw_only=True):
    """Which request bodies are written: every ``every``-th step; 0: none."""

    every: int = 1

    @classmethod
    def parse(cls, text: str) -> Keep:
        """Read ``all``, ``none`` or ``sample:N``. Raises: ValueError."""
        if text in ("all", "none"):
            return cls(every=1 if text == "all" else 0)
        kind, _, number = text.partition(":")
        if kind != "sample" or not number.isdigit() or int(number) < 1:
            raise ValueError(f"{text!r} is none of all, none, sample:N")
        return cls(every=int(number))

    def wants(self, step: int) -> bool:
        return self.every > 0 and (step - 1) % self.every == 0


def facts_of(target: Target, unseen: int) -> ModelFacts:
    """Return what the referee must know of the target's model. The unseen prefix takes its part of the window."""
    base = REFEREES[target.codec.wire][1]
    spec = target.spec
    said: dict[str, Any] = {
        "prefill": spec.prefill,
        "sampling": spec.sampling,
        "forced_tool_choice": spec.forced_tool_choice,
        "thinking_types": spec.thinking and frozenset({"between_tools", *spec.thinking}),
    }
    return msgspec.structs.replace(
        base,
        window=target.window - unseen,
        max_input=None if spec.max_input is None else max(1, spec.max_input - unseen),
        max_output=spec.max_output or base.max_output,
        min_cache_tokens=spec.min_cacheable_tokens or base.min_cache_tokens,
        binds_thinking=spec.binds_thinking,
        supports_mid_system=spec.mid_system,
        **{name: value for name, value in said.items() if value is not None},
    )


class Replay:
    """One recorded session on its way through the engine and its referee; ``run`` walks it to the end."""

    def __init__(
        self,
        imported: Imported,
        target: Target,
        *,
        store: Store,
        policy: Policy = DEFAULT,
        unseen: int | None = None,
        seed: int = 0,
        out: Path | None = None,
        keep: Keep | None = None,
    ) -> None:
        """``unseen``: tokens of the prefix that the record lacks, None: as inferred at import. ``out``: folder for
        steps and report, None: nothing is written."""
        self.imported = imported
        if target.reader == "shell":  # the command must find this store, which need not be the default one
            target = msgspec.structs.replace(target, reader=f"shell --store {shlex.quote(store.name)}")
        self.target = target
        self.store = store
        self.out = out
        self.keep = keep or Keep()
        kept = [at for at, draft in enumerate(imported.drafts) if not isinstance(draft.body, UnseenPrefix)]
        inferred = [draft for draft in imported.drafts if isinstance(draft.body, UnseenPrefix)]
        if unseen is not None:
            inferred = [Draft(body=UnseenPrefix(tokens=unseen, basis="given"))] if unseen else []
        self.drafts: list[Draft] = [*inferred, *(imported.drafts[at] for at in kept)]
        self._places = {at: len(inferred) + place for place, at in enumerate(kept)}
        self._seqs: list[int] = []
        self.unseen = sum(d.body.tokens for d in inferred if isinstance(d.body, UnseenPrefix))
        make, _ = REFEREES[target.codec.wire]
        self.referee = make(facts=facts_of(target, self.unseen), seed=seed)
        self.session = Session.open(
            store,
            imported.session,
            target=target,
            policy=policy,
            format=imported.format,
            source=imported.source,
        )
        self.steps: list[dict[str, Any]] = []
        self.refusals: list[dict[str, Any]] = []
        self.on_step: Callable[[Compiled, dict[str, Any], Verdict], None] | None = None
        self._last: Sketch | None = None
        self._ms: list[float] = []
        self._usage: list[Usage] = []
        self._reads_back = 0

    @property
    def calls(self) -> int:
        """Number of recorded model calls."""
        return sum(isinstance(draft.body, Answered) for draft in self.drafts)

    def run(self, progress: Callable[[int], None] | None = None) -> dict[str, Any]:
        """Walk every recorded call and return the report. ``progress`` gets the number of steps done."""
        waiting: list[Draft] = []
        step = 0
        for place, draft in enumerate(self.drafts):
            if isinstance(draft.body, Answered):
                self._append(*waiting)
                waiting = []
                step += 1
                self._step(step, draft)
                if progress is not None:
                    progress(step)
            elif isinstance(draft.body, Revoked):
                self._append(*waiting)
                waiting = [self._revoking(place, draft, draft.body)]
            else:
                waiting.append(draft)
        self._append(*waiting)
        report = self.report()
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            _write(self.out / "report.json", report)
        return report

    def _append(self, *drafts: Draft) -> None:
        """Append what comes next in the record, and keep where it stands in this log."""
        if drafts:
            last = self.session.append(*drafts)
            self._seqs += range(last + 1 - len(drafts), last + 1)

    def _revoking(self, place: int, draft: Draft, body: Revoked) -> Draft:
        """Return a revocation that names its target by this log's number."""
        target = self._seqs[self._places[body.target]]
        made = msgspec.structs.replace(
            draft, body=msgspec.structs.replace(body, target=target), causes=(target,)
        )
        self.drafts[place] = made
        return made

    def _step(self, step: int, draft: Draft) -> None:
        body = draft.body
        assert isinstance(body, Answered)
        started = time.perf_counter()
        try:
            compiled = self.session.compile()
        except (OverBudget, EmptyRequest) as error:
            self._ms.append((time.perf_counter() - started) * 1000)
            self._refused(step, error)
            self._append(msgspec.structs.replace(draft, body=msgspec.structs.replace(body, usage=None)))
            return
        data = compiled.body
        self._ms.append((time.perf_counter() - started) * 1000)
        verdict = self.referee.judge(data)
        violations = [f"{v.code} at {v.path}: {v.text}" for v in verdict.violations]
        made = manifest(
            compiled,
            session=self.session.id,
            provider=self.target.codec.wire,
            step=step,
            previous=self._last,
            violations=violations,
            view=self.session.view,
        )
        usage = self._billed(body, verdict)
        made |= self._spent(usage)
        self.steps.append(made)
        self._last = Sketch(compiled)
        if self.out is not None:
            folder = self.out / "steps"
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / f"{step:05}.manifest.json", made)
            if self.keep.wants(step):
                (folder / f"{step:05}.request.json").write_bytes(data)
        if self.on_step is not None:
            self.on_step(compiled, made, verdict)
        answer = msgspec.structs.replace(body, usage=usage, request=self.session.view.fold.sent[-1].seq)
        self._append(msgspec.structs.replace(draft, body=answer))

    def _refused(self, step: int, error: OverBudget | EmptyRequest) -> None:
        refusal: dict[str, Any] = {"step": step, "error": type(error).__name__, "text": str(error)}
        if isinstance(error, OverBudget):
            refusal |= {
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
        self.refusals.append(refusal)
        if self.out is not None:
            folder = self.out / "steps"
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / f"{step:05}.error.json", refusal)

    def _billed(self, body: Answered, verdict: Verdict) -> Usage | None:
        if verdict.status != 200:
            return None
        usage = self.session.codec.usage_from(verdict.usage_body)
        said = [
            block.text if isinstance(block, Text | Thinking) else f"{block.name} {block.arguments}"
            for block in body.message.blocks
            if isinstance(block, Text | Thinking | ToolCall)
        ]
        output = sum(self.target.counter.count_many(said)) if said else 0
        return msgspec.structs.replace(usage, output=output)

    def _spent(self, usage: Usage | None) -> dict[str, Any]:
        """Note what a step used, the unseen prefix included, and return it for its manifest."""
        if usage is None:
            return {"usage": None, "cost_usd": None}
        spec = self.target.spec
        whole = with_unseen(usage, self.unseen, spec, first=not self._usage)
        self._usage.append(whole)
        return {"usage": msgspec.to_builtins(whole), "cost_usd": costs([whole], spec)}

    # -- the report ----------------------------------------------------------------------------------------

    def report(self) -> dict[str, Any]:
        """Return the figures of the walk so far, in the form of the contract; null: not built yet."""
        events = self.session.events
        counts = dict.fromkeys(("externalized", "deduplicated", "cleared", "summarized", "reset"), 0)
        for event in events:
            if isinstance(event.body, Rewritten):
                counts[event.body.how] += len(event.body.replacements)
        sums = tokens(self._usage)
        sent, read = sums["sent"], sums["cache_read"]
        broke = [made["prefix"]["broke"] for made in self.steps if made["prefix"]["broke"] is not None]
        return {
            "session": self.session.id,
            "format": self.imported.format,
            "provider": self.target.codec.wire,
            "model": self.target.params.model,
            "policy": self.session.policy.name,
            "window": self.target.window,
            "steps": len(self.steps) + len(self.refusals),
            "refused_steps": len(self.refusals),
            "over_budget_steps": sum(refusal["error"] == "OverBudget" for refusal in self.refusals),
            "tokens": sums,
            "cost_usd": {
                **costs(self._usage, self.target.spec),
                "summaries": "0",
                "read_backs": None,
            },
            "hidden_then_used": None,
            "recovery": None,
            "full_history": None,
            "cache_hit_rate": round((read or 0) / sent, 4) if sent else None,
            "epochs": len(self.session.view.fold.epochs),
            "prefix_breaks": len(broke),
            "unexplained_prefix_breaks": sum(b["cause"] == "unexplained" for b in broke),
            "rewrites": counts,
            "violations": sum(len(made["violations"]) for made in self.steps),
            "peak_tokens": max((made["tokens"]["total"] for made in self.steps), default=0),
            "unrecoverable_bytes": self.unrecoverable(),
            "compile_ms": {"p50": _quantile(self._ms, 0.5), "p99": _quantile(self._ms, 0.99)},
            "flaws": [{"code": f.code, "where": f.where, "text": f.text} for f in self.imported.flaws],
        }

    def unrecoverable(self) -> int:
        """Bytes of what was imported that the store doesn't give back exactly, read anew from disk."""
        self.session.flush()
        stored = {event.seq: event.body for event in self.store.load(self.session.id)}
        seqs = [*self._seqs, *(None for _ in self.drafts[len(self._seqs) :])]
        lost = 0
        for draft, seq in zip(self.drafts, seqs, strict=True):
            wanted, found = _content(draft.body), stored.get(seq) if seq is not None else None
            if found is None or _content(found) != wanted:
                lost += len(wanted)
        return lost


def _content(body: Any) -> bytes:
    """Return what reads back of a fact; of an answer its message, since its usage is the replay's own."""
    if isinstance(body, Answered):
        return msgspec.json.encode(body.message)
    read = content_bytes(body, None)
    return msgspec.json.encode(body) if read is None else read[1]


def _quantile(values: Sequence[float], share: float) -> float | None:
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 3)


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
