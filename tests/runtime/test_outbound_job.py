"""http.request as a tenant meets it: submitted, run by a worker, tried again when the other side says so."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from apps.jobs.models import Attempt, JobLog
from apps.jobs.services import submit
from apps.jobs.states import JobState
from tests.processes import final, worker
from tests.runtime.neighbours import Server

BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy"
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Moody(Server):
    """Busy at first, fine afterwards."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.answer = FINE if self.seen else BUSY
        await super().serve(reader, writer)


@pytest.fixture
def moody() -> Iterator[Moody]:
    """A server in a thread of its own, for the test itself waits without a loop."""
    server, ready, loop = Moody(FINE), threading.Event(), asyncio.new_event_loop()

    async def run() -> None:
        listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        server.port = listener.sockets[0].getsockname()[1]
        ready.set()
        await listener.serve_forever()

    task = loop.create_task(run())
    thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.wait([task])))
    thread.start()
    ready.wait()
    yield server
    loop.call_soon_threadsafe(task.cancel)
    thread.join()
    loop.close()


def test_a_busy_server_is_asked_again_with_the_same_key(own_database, tmp_path, queue, moody):
    host = f"127.0.0.1:{moody.port}"
    with worker(own_database, tmp_path, "--poll-interval", "0.2", HTTP_ALLOW_PRIVATE=host):
        [job] = final(submit(queue=queue, type="http.request", payload={"url": f"http://{host}/", "method": "POST"}).id)
    assert (job.state, job.attempt) == (JobState.COMPLETED, 2)
    assert job.result == {"status": 200, "headers": {"content-length": "2"}, "body": "ok", "body_cut": False}
    keys = {line for head in moody.seen for line in head.split(b"\r\n") if line.lower().startswith(b"idempotency-key")}
    assert len(moody.seen) == 2
    assert len(keys) == 1
    first = Attempt.objects.get(job_id=job.id, attempt=1)
    assert (first.outcome, first.error_class, first.error_message) == ("retryable_error", "TryAgain", "Answered 503.")
    assert "busy" in JobLog.objects.filter(job_id=job.id, attempt=1).values_list("message", flat=True)


def test_the_inside_is_a_dead_letter_at_once(own_database, tmp_path, queue):
    with worker(own_database, tmp_path, "--poll-interval", "0.2"):
        [job] = final(submit(queue=queue, type="http.request", payload={"url": "http://169.254.169.254/"}).id)
    assert (job.state, job.attempt) == (JobState.DEAD_LETTER, 1)
    assert Attempt.objects.get(job_id=job.id).error_class == "NotSent"
