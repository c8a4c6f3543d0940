"""Group commit: one thread writes, and everything that waits for it shares a transaction and its sync.

A sync costs 0.1 ms on a virtual disk and up to 10 ms on a real one, a row some microseconds: so the thread
takes all that is queued, runs each job inside a savepoint of its own, commits once, and only then answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

import apsw

from foreword.errors import StoreUnavailable
from foreword.store.connection import unavailable
from foreword.store.database import Database
from foreword.store.place import Place

GROUP = 256

Work = Callable[[Database], Any]


class Job:
    """Something to do with the writing connection, and where its outcome goes.

    ``alone``: it runs outside the shared transaction and brings its own.
    """

    __slots__ = ("alone", "outcome", "work")

    def __init__(self, work: Work, *, alone: bool) -> None:
        self.work = work
        self.alone = alone
        self.outcome: Future[Any] = Future()


class Writer:
    """The thread that owns the writing connection of one store."""

    def __init__(self, place: Place, db: Database) -> None:
        self.commits = 0
        self._place = place
        self._db = db
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._gate = threading.Lock()
        self._ended = ""
        self._thread = threading.Thread(target=self._serve, name="foreword-store-writer", daemon=True)
        self._thread.start()

    def run(self, work: Work, *, alone: bool = False) -> Any:
        """Do the work on the writer's thread; return its result once it is committed and synced.

        Raises: what the work raises, and StoreUnavailable when the commit fails.
        """
        job = Job(work, alone=alone)
        with self._gate:
            if self._ended:
                raise StoreUnavailable(self._place.name, self._ended, "open it again")
            self._queue.put(job)
        return job.outcome.result()

    def close(self) -> None:
        """Finish what is queued, then end the thread and close its connection."""
        with self._gate:
            if not self._ended:
                self._ended = "is closed"
                self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        taken: list[Job | None] = []
        try:
            while None not in taken:
                taken = [self._queue.get()]
                while len(taken) < GROUP and not self._queue.empty():
                    taken.append(self._queue.get())
                jobs = [job for job in taken if job is not None]
                self._commit([job for job in jobs if not job.alone])
                for job in jobs:
                    if job.alone:
                        self._settle(job, *self._try(job))
        except BaseException as error:  # noqa: BLE001 - carried to all who wait
            self._give_up(taken, error)
        finally:
            self._db.close()

    def _give_up(self, taken: list[Job | None], error: BaseException) -> None:
        """Leave nobody waiting for a connection that can't be used on: a transaction could not even be undone."""
        with self._gate:
            self._ended = f"can't be written any more: {error}"
        while not self._queue.empty():
            taken.append(self._queue.get())
        for job in taken:
            if job is not None and not job.outcome.done():
                self._settle(job, None, error)

    def _commit(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        outcomes: list[tuple[Any, BaseException | None]] = []
        fault: BaseException | None = None
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for job in jobs:
                outcomes.append(self._attempt(job))
            self._db.execute("COMMIT")
            self.commits += 1
        except BaseException as error:  # noqa: BLE001 - carried to the callers who wait for it
            fault = error
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        finally:
            for number, job in enumerate(jobs):
                value, error = outcomes[number] if number < len(outcomes) else (None, fault)
                self._settle(job, value, error or fault)

    def _attempt(self, job: Job) -> tuple[Any, BaseException | None]:
        """Run one job so that its failure undoes its own rows and no other's."""
        self._db.execute("SAVEPOINT job")
        value, error = self._try(job)
        if error is not None:
            try:
                self._db.execute("ROLLBACK TO job")
            except apsw.Error as undone:
                # SQLite undid the whole transaction itself, and the error of this job says why.
                raise (error if isinstance(error, apsw.Error) else undone) from None
        self._db.execute("RELEASE job")
        return value, error

    def _try(self, job: Job) -> tuple[Any, BaseException | None]:
        try:
            return job.work(self._db), None
        except BaseException as error:  # noqa: BLE001 - carried to the caller who waits for it
            return None, error

    def _settle(self, job: Job, value: Any, error: BaseException | None) -> None:
        if error is None:
            job.outcome.set_result(value)
        elif isinstance(error, apsw.Error):
            translated = unavailable(self._place, error)
            translated.__cause__ = error
            job.outcome.set_exception(translated)
        else:
            job.outcome.set_exception(error)
