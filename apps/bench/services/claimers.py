"""Many claimers in one process, as lean as a line allows: the database is measured, not its driver.

Each has a connection, a session and one transaction on its way: the engine's own statements, prepared once, and those of
a claim sent in one go as a worker sends them (claim_roomy.py). What it got it gives back by the engine's report.
"""

import selectors
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import pq
from psycopg.adapt import PyFormat, Transformer

from apps.bench.services.forks import together
from apps.bench.services.records import TYPE
from apps.bench.services.workers import Stuck
from apps.jobs.engine.claim_roomy import claim_roomy_steps
from apps.jobs.engine.report import Ended, report_steps
from apps.sql import Statement, open_own

HELD = 50  # jobs a claimer holds before it gives them all back
WARM = 2  # jobs that each claims before the time
CLAIM = 2  # which answer of a claim's transaction it is: after BEGIN and the plan
CANDIDATES, JOB, FENCE = 0, 4, 10  # columns of the latter
STATE = pq.DiagnosticField.SQLSTATE
FULL = b"22P02"  # claim_roomy_charge.sql found no place


type Ask = tuple[Statement[Any], Mapping[str, Any]]
type Ready = tuple[bytes, Sequence[Any], Sequence[int]]  # a prepared statement, its values and their formats

_begin, _commit, _rollback = (Statement(text, tuple) for text in ("BEGIN", "COMMIT", "ROLLBACK"))


@dataclass(slots=True)
class Done:
    """How many jobs were admitted, when the last one was, and how often none, for others had what was found."""

    admitted: int = 0
    last: float = 0.0
    vain: int = 0


class Claimer:
    def __init__(self, queue_id: UUID, session_id: UUID, done: Done) -> None:
        self.session_id, self.done = session_id, done
        self.line = open_own()
        self.pgconn = self.line.pgconn
        self.held: list[Ended] = []
        self.empty = False  # nothing waits in the queue
        steps = claim_roomy_steps(session_id=session_id, queue_id=queue_id, offers={TYPE: None}, limit=1)
        asks: list[Ask] = [(_begin, {}), next(steps), steps.send([]), steps.send([]), (_commit, {})]
        self.claim = [self._ready(*ask, prepare=True) for ask in asks]
        self.rollback = self._ready(_rollback, {}, prepare=True)
        self._ready(*self._report([Ended(session_id, 0, session_id, "success")]), prepare=True)
        self.pgconn.enter_pipeline_mode()

    @property
    def over(self) -> bool:
        return self.empty and not self.held

    def send(self) -> None:
        """The next claim; or what is held goes back."""
        self.reports = self.empty or len(self.held) == HELD
        asks = [self._ready(*self._report(self.held))] if self.reports else self.claim
        if self.pgconn.transaction_status == pq.TransactionStatus.INERROR:
            asks = [self.rollback, *asks]
        for name, values, formats in asks:
            self.pgconn.send_query_prepared(name, values, formats, pq.Format.BINARY)
        self.pgconn.pipeline_sync()
        self.pgconn.flush()
        self.answers: list[pq.abc.PGresult] = []

    def warm(self, jobs: int) -> None:
        """Claim so many and give them back, uncounted: workers are connected for days, with their statements planned."""
        with selectors.DefaultSelector() as here:
            here.register(self.pgconn.socket, selectors.EVENT_READ)
            while len(self.held) < jobs:
                self._exchange(here)
            self.empty = True
            self._exchange(here)
        self.empty = False

    def _exchange(self, here: selectors.BaseSelector) -> None:
        self.send()
        while not self.read():
            here.select()

    def read(self) -> bool:
        """Take in what has come; True when that was the whole answer."""
        self.pgconn.consume_input()
        while not self.pgconn.is_busy():
            result = self.pgconn.get_result()
            if result is None:
                continue
            if result.status == pq.ExecStatus.PIPELINE_SYNC:
                self._learn()
                return True
            self.answers.append(result)
        return False

    def _learn(self) -> None:
        for answer in self.answers:
            if answer.status == pq.ExecStatus.FATAL_ERROR:
                if answer.error_field(STATE) != FULL:
                    raise Stuck(answer.get_error_message())
                self.done.vain += 1
                return
        if self.reports:
            self.held = []
            return
        claim = self.answers[CLAIM]
        job, fence = claim.get_value(0, JOB), claim.get_value(0, FENCE)
        if job is not None and fence is not None:
            self.held.append(Ended(UUID(bytes=job), int.from_bytes(fence), self.session_id, "success"))
            self.done.admitted += 1
            self.done.last = time.time()
        elif not any(claim.get_value(0, CANDIDATES) or b""):
            self.empty = True
        else:
            self.done.vain += 1

    def _report(self, ended: Sequence[Ended]) -> Ask:
        return next(report_steps(ended=ended))

    def _ready(self, statement: Statement[Any], params: Mapping[str, Any], *, prepare: bool = False) -> Ready:
        dumped, name = Transformer(self.line), str(id(statement)).encode()
        values = dumped.dump_sequence([params[one] for one in statement.names], [PyFormat.AUTO] * len(statement.names))
        if prepare:
            self.pgconn.prepare(name, statement.native, dumped.types)
        return name, values, dumped.formats or []


def claim_all(queue_id: UUID, sessions: Sequence[UUID]) -> tuple[float, Done]:
    """Let claimers, one a session, empty a queue, from the moment that all processes are ready; answers when that was."""
    done, claimers = _warmed_up(queue_id, sessions)
    with selectors.DefaultSelector() as crowd:
        for one in claimers:
            crowd.register(one.pgconn.socket, selectors.EVENT_READ, one)
        together()
        began = time.time()
        for one in claimers:
            one.send()
        while crowd.get_map():
            for key, _ in crowd.select():
                if not key.data.read():
                    continue
                if key.data.over:
                    crowd.unregister(key.fileobj)
                else:
                    key.data.send()
    for one in claimers:
        one.line.close()
    return began, done


def _warmed_up(queue_id: UUID, sessions: Sequence[UUID]) -> tuple[Done, list[Claimer]]:
    done = Done()
    claimers = [Claimer(queue_id, session_id, done) for session_id in sessions]
    for one in claimers:
        one.warm(WARM)
    done.admitted = done.vain = 0
    return done, claimers
