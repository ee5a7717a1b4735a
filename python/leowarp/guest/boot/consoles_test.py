# SPDX-License-Identifier: Apache-2.0
"""Tests the host's ends of consoles without a guest."""

import os

import pytest

from leowarp.guest.boot.consoles import MESSAGE_BYTES, Escape, Outputs


def passed(*pieces):
    escape = Escape()
    return b"".join(escape.passed(piece) for piece in pieces), escape.is_over


def test_tilde_and_dot_at_the_beginning_of_a_line_end_the_session():
    assert passed(b"~.") == (b"~.", True)
    assert passed(b"ls\r", b"~", b".")[1]
    assert not passed(b"ls ~.")[1]


def test_all_else_that_begins_with_a_tilde_passes():
    assert passed(b"~/x\r~~\r") == (b"~/x\r~\r", False)


def test_two_outputs_are_carried_over_until_both_are_closed():
    (read, out), (read_err, err) = os.pipe(), os.pipe()
    with Outputs(out, err) as consoles:
        ends = {number: os.dup(own) for own, number in consoles.descriptors.items()}
        assert consoles.words == ["con1=null,fd:100", "con3=null,fd:101"]
        consoles.attach()
        for number, text in ((100, b"a" * MESSAGE_BYTES), (101, b"b")):
            os.write(ends[number], text)
            os.close(ends[number])
    consoles.check()
    assert (os.read(read, 1 << 16), os.read(read_err, 9)) == (b"a" * MESSAGE_BYTES, b"b")
    for end in (read, out, read_err, err):
        os.close(end)


def test_a_reader_that_has_gone_is_an_error():
    (read, out), null = os.pipe(), os.open(os.devnull, os.O_WRONLY)
    os.close(read)
    with Outputs(out, null) as consoles:
        end = os.dup(min(consoles.descriptors, key=consoles.descriptors.__getitem__))
        consoles.attach()
        os.write(end, b"x")
        os.close(end)
    with pytest.raises(BrokenPipeError):
        consoles.check()
    for left in (out, null):
        os.close(left)
