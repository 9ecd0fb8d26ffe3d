"""The wire between a supervisor and its executors: whole batches, or none."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uuid_utils.compat import uuid7

from apps.runtime.executor.frames import (
    Began,
    Done,
    Garbled,
    Halt,
    Said,
    Serve,
    Start,
    Told,
    orders,
    pack,
    unpack,
    words,
)

START = Start(
    1,
    uuid7(),
    uuid7(),
    "a/b/c",
    "noop",
    '{"é": 1}',
    1,
    5,
    2**60,
    1,
    datetime(2026, 1, 2, 3, 4, 5, 678, UTC),
    None,
    "r",
    None,
)
ORDERS = [Serve(uuid7(), 10), START, Halt(1, "timeout")]
WORDS = [Began([1, 2]), Said(1, "line", "info"), Told(1, 2, None, "s", "n"), Done(1, "success", "[1]"), Done(2, None)]


@pytest.mark.parametrize(("sent", "decoder"), [(ORDERS, orders), (WORDS, words)])
def test_what_is_sent_arrives_however_it_is_cut(sent, decoder):
    data = pack(sent) + pack(sent[:1])
    for cut in range(len(data)):
        buffer = bytearray(data[:cut])
        first = list(unpack(buffer, decoder))
        buffer += data[cut:]
        assert first + list(unpack(buffer, decoder)) == [*sent, sent[0]]
        assert not buffer


@given(st.binary(min_size=4, max_size=200))
def test_noise_is_refused_or_waited_for_and_never_believed(noise):
    buffer = bytearray(noise)
    try:
        heard = list(unpack(buffer, words))
    except Garbled:
        return
    assert all(isinstance(one, Began | Said | Told | Done) for one in heard)


def test_an_endless_batch_is_refused_before_it_is_waited_for():
    with pytest.raises(Garbled):
        list(unpack(bytearray(b"\xff" * 8), words))


def test_an_order_is_no_word():
    with pytest.raises(Garbled):
        list(unpack(bytearray(pack(ORDERS)), words))
