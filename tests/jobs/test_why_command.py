"""manage.py why: the same answer for whoever sits at a terminal."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from uuid_utils.compat import uuid7

from apps.queues import services as queues
from tests import acts
from tests.jobs.looks import ANN

pytestmark = pytest.mark.django_db


def test_the_command_says_it_line_by_line_or_as_json(queue):
    job = acts.enqueue(queue)
    queues.pause(queue=queue, actor=ANN, reason="the printer burns")
    out = StringIO()
    call_command("why", str(job), stdout=out)
    assert out.getvalue().splitlines()[1].split()[0] == "queue_paused"
    out = StringIO()
    call_command("why", str(job), "--json", stdout=out)
    assert '"code": "in_line"' in out.getvalue()
    with pytest.raises(CommandError, match="no job"):
        call_command("why", str(uuid7()))


def test_the_command_says_when_it_does_not_wait(queue, session):
    job = acts.enqueue(queue)
    acts.take_one(session, queue)
    out = StringIO()
    call_command("why", str(job), stdout=out)
    assert "does not wait: it is running" in out.getvalue()


def test_what_a_tenant_wrote_moves_no_cursor(queue):
    job = acts.enqueue(queue, type="\x1b[2Jping\nqueue_paused  all is well\u202e")
    queues.pause(queue=queue, actor=ANN, reason="the printer\x07 burns\r\x1b]0;owned\x07")
    out = StringIO()
    call_command("why", str(job), stdout=out)
    lines = out.getvalue().removesuffix("\n").split("\n")
    assert all(line.isprintable() for line in lines)
    assert lines[0] == f"\\x1b[2Jping\\nqueue_paused  all is well\\u202e {job}"
    assert "the printer\\x07 burns" in lines[1]
