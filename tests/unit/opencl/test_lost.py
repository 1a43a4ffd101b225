# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A helper that is killed: the host gets codes, and its next context works."""

from __future__ import annotations

import os
import signal
import warnings
from pathlib import Path

import pytest
from eddy.opencl.standard import number
from opencl_kit import Handle, Host, Refused, handles


def helpers() -> list[int]:
    """Helpers of this process."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/status"):
        try:
            mine = f"PPid:\t{os.getpid()}\n" in entry.read_text()
            words = entry.with_name("cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        if mine and b"opencl_host" in words:
            found.append(int(entry.parent.name))
    return found


def test_a_killed_helper_is_a_lost_device_and_the_next_context_has_another(host: Host) -> None:
    context = host.context()
    queue, buffer, gate = host.queue(context), host.buffer(context, 8), host.make("clCreateUserEvent", context)
    held = host.write(queue, buffer, b"held", after=[gate])
    (victim,) = helpers()
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(Refused, match="CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"):
        host.call("clWaitForEvents", 1, handles(held))  # it ends as soon as the socket's end was seen
    assert host.status(held) == number("CL_OUT_OF_RESOURCES")
    for refused, code in (
        (lambda: host.read(queue, buffer, 8), "CL_OUT_OF_RESOURCES"),
        (lambda: host.buffer(context, 8), "CL_MEM_OBJECT_ALLOCATION_FAILURE"),
        (lambda: host.program(context, "kernel void k() {}"), "CL_OUT_OF_RESOURCES"),
        (lambda: host.call("clFinish", queue), "CL_OUT_OF_RESOURCES"),
    ):
        with pytest.raises(Refused, match=code):
            refused()
    host.call("clSetUserEventStatus", gate, 0)
    host.release(Event=[held, gate], MemObject=buffer, CommandQueue=queue, Context=context)
    again = host.context()
    second, other = host.queue(again), host.buffer(again, 8, data=b"it lives")
    assert host.read(second, other, 8) == b"it lives"
    host.release(MemObject=other, CommandQueue=second, Context=again)


LARGE = 2 << 20
"""Bytes of a transfer whose room is given back to the system at once."""


def test_a_forked_child_has_lost_what_its_parent_keeps_and_can_begin_anew(
    host: Host, context: Handle, queue: Handle
) -> None:
    buffer, gate = host.buffer(context, 8, data=b"parents'"), host.make("clCreateUserEvent", context)
    large, much = host.buffer(context, LARGE), os.urandom(LARGE)
    held = host.write(queue, buffer, b"later", after=[gate])
    more = host.write(queue, large, much, after=[gate])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's word on forks of processes with threads
        child = os.fork()
    if not child:
        try:
            os._exit(0 if as_child(host, context, queue, buffer, held) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    host.call("clSetUserEventStatus", gate, 0)
    assert host.read(queue, buffer, 8) == b"laterts'"
    assert host.read(queue, large, LARGE) == much, "what the child gave up was its parent's, too"
    host.release(Event=[held, more, gate], MemObject=[buffer, large])


def as_child(host: Host, context: Handle, queue: Handle, buffer: Handle, held: Handle) -> bool:
    """Whether everything that is the parent's ends with a code, and a context of the child's own works."""
    codes = []
    for call in (
        lambda: host.read(queue, buffer, 8),
        lambda: host.call("clWaitForEvents", 1, handles(held)),
        lambda: host.buffer(context, 8),
    ):
        try:
            call()
        except Refused as refused:
            codes.append(refused.name)
    mine = host.context()
    own = host.buffer(mine, 8, data=b"childs'.")
    lost = ["CL_OUT_OF_RESOURCES", "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "CL_MEM_OBJECT_ALLOCATION_FAILURE"]
    return codes == lost and host.read(host.queue(mine), own, 8) == b"childs'."
