"""Several processes that sync one list: it is recorded once, and what one set stands for the others."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from foreword.core.block import ToolSpec
from foreword.engine.session import Session
from foreword.store import Store
from tests.engine.message_lists import Messages
from tests.histories import counting_clock, target_of


def in_store(store: Store) -> Session:
    return Session.open(store, "shared", target=target_of("openai-chat"), clock=counting_clock())


def kinds(session: Session) -> Counter[str]:
    return Counter(event.kind for event in session.events)


def test_two_processes_sync_one_list_once(tmp_path: Path) -> None:
    """A request that is tried again on another worker adds nothing, and none of them forks."""
    with Store.open(tmp_path) as store:
        one, other = in_store(store), in_store(store)
        listed = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "pay invoice"}]
        tools = [{"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}]
        for asked in ("and now", "and then"):
            first = one.sync(listed, tools=tools)
            one.flush()
            again = other.sync(listed, tools=tools)
            assert again.request.body == first.request.body
            assert (first.forked_at, again.forked_at, again.appended) == (None, None, 0)
            listed += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": asked}]
        assert (kinds(other)["said"], kinds(other)["instructions_set"], kinds(other)["tools_set"]) == (
            2,
            1,
            1,
        )


def test_processes_that_sync_one_list_at_once_record_it_once(tmp_path: Path) -> None:
    """Who loses the race compares again with what the winner wrote."""
    workers, rounds = 3, 12
    start = Barrier(workers)
    listed: Messages = [{"role": "user", "content": "question 0"}]
    for number in range(1, rounds):
        listed += [
            {"role": "assistant", "content": f"answer {number}"},
            {"role": "user", "content": f"question {number}"},
        ]

    def work() -> list[int | None]:
        with Store.open(tmp_path) as store:
            session = in_store(store)
            forks: list[int | None] = []
            for end in range(1, len(listed) + 1, 2):
                start.wait()
                forks.append(session.sync(listed[:end]).forked_at)
            session.flush()
            return forks

    with ThreadPoolExecutor(workers) as pool:
        forks = [future.result() for future in [pool.submit(work) for _ in range(workers)]]
    assert forks == [[None] * rounds] * workers
    with Store.open(tmp_path) as store:
        counted = kinds(in_store(store))
    assert (counted["said"], counted["answered"]) == (rounds, rounds - 1)


def test_what_stands_by_another_process_is_not_set_again(tmp_path: Path) -> None:
    """Instructions, tools and a budget: a second event would begin an epoch for nothing."""
    with Store.open(tmp_path) as store:
        one, other = in_store(store), in_store(store)
        for session in (one, other):
            session.instruct("be brief", "and kind \ud800")
            session.offer([ToolSpec(name="pay"), ToolSpec(name="b\ud800")])
            session.task_budget(500)
        counted = kinds(other)
        assert [counted[kind] for kind in ("instructions_set", "tools_set", "task_budget_set")] == [1, 1, 1]
