# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands: order, user events, markers, barriers, callbacks, profile, launches and what a launch refuses."""

from __future__ import annotations

import ctypes
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from eddy.opencl.standard import number
from opencl_kit import Handle, Host, Refused, handles

STEP = (
    "kernel void step(global int *x, int n) { int i = get_global_id(0); x[i] = x[i] * n + (int)get_global_offset(0); }"
)
COMPLETE, SUBMITTED, QUEUED = 0, 2, 3
IN_WAIT_LIST = number("CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST")


def ints(*values: int) -> bytes:
    return np.array(values, "<i4").tobytes()


def user_event(host: Host, context: Handle) -> Handle:
    return host.make("clCreateUserEvent", context)


def set_status(host: Host, event: Handle, status: int) -> None:
    host.call("clSetUserEventStatus", event, status)


def test_launches_work_on_what_is_resident(host: Host, context: Handle, queue: Handle) -> None:
    buffer, program = host.buffer(context, 16, data=ints(1, 2, 3, 4)), host.program(context, STEP)
    kernel = host.kernel(program, "step", buffer, ints(3))
    events = [host.launch(queue, kernel, [4]) for _ in range(3)]
    assert host.read(queue, buffer, 16) == ints(27, 54, 81, 108)
    events.append(host.launch(queue, kernel, [2], [2], offset=[2]))
    assert host.read(queue, buffer, 16) == ints(27, 54, 245, 326)
    times = [
        [
            host.ask("clGetEventProfilingInfo", event, number("CL_PROFILING_COMMAND_QUEUED") + k, form=ctypes.c_uint64)
            for k in range(4)
        ]
        for event in events
    ]
    assert all(row == sorted(row) and row[3] > row[2] for row in times)
    assert [row[2] for row in times] == sorted(row[2] for row in times)
    host.release(Event=events, Kernel=kernel, Program=program, MemObject=buffer)


def test_what_waits_for_a_user_event_is_held_back_and_so_is_what_is_behind_it(
    host: Host, context: Handle, queue: Handle
) -> None:
    gate, buffer = user_event(host, context), host.buffer(context, 8, data=b"........")
    first = host.write(queue, buffer, b"one", after=[gate])
    second = host.write(queue, buffer, b"two", offset=4)
    assert (host.status(first), host.status(second), host.status(gate)) == (QUEUED, QUEUED, SUBMITTED)
    set_status(host, gate, COMPLETE)
    assert host.read(queue, buffer, 8) == b"one.two."
    assert host.status(first) == host.status(second) == COMPLETE
    with pytest.raises(Refused, match="CL_INVALID_OPERATION"):
        set_status(host, gate, COMPLETE)
    host.release(Event=[gate, first, second], MemObject=buffer)


def test_a_failed_user_event_fails_what_waits_for_it(host: Host, context: Handle, queue: Handle) -> None:
    gate, buffer = user_event(host, context), host.buffer(context, 8, data=b"........")
    bad = host.write(queue, buffer, b"bad", after=[gate])
    next_one = host.write(queue, buffer, b"good", offset=4)
    set_status(host, gate, -77)
    with pytest.raises(Refused, match="CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"):
        host.call("clWaitForEvents", 1, handles(bad))
    assert (host.status(gate), host.status(bad)) == (-77, IN_WAIT_LIST)
    assert host.read(queue, buffer, 8) == b"....good"
    host.release(Event=[gate, bad, next_one], MemObject=buffer)


def test_out_of_order_only_events_and_barriers_order(host: Host, context: Handle) -> None:
    queue = host.queue(context, "OUT_OF_ORDER_EXEC_MODE_ENABLE")
    gate, buffer = user_event(host, context), host.buffer(context, 8, data=b"........")
    held = host.write(queue, buffer, b"held", after=[gate])
    assert host.read(queue, buffer, 8) == b"........"  # passes the one that waits
    host.call("clEnqueueBarrierWithWaitList", queue, 0, None, None)
    behind = host.write(queue, buffer, b"late", offset=4)
    marker = Handle()
    host.call("clEnqueueMarkerWithWaitList", queue, 0, None, ctypes.byref(marker))
    assert {host.status(each) for each in (held, behind, marker)} == {QUEUED}
    set_status(host, gate, COMPLETE)
    host.call("clFinish", queue)
    assert {host.status(each) for each in (held, behind, marker)} == {COMPLETE}
    assert host.read(queue, buffer, 8) == b"heldlate"
    host.release(Event=[gate, held, behind, marker], MemObject=buffer, CommandQueue=queue)


def test_a_marker_with_a_list_waits_for_that_alone(host: Host, context: Handle) -> None:
    queue = host.queue(context, "OUT_OF_ORDER_EXEC_MODE_ENABLE")
    gate, done = user_event(host, context), user_event(host, context)
    set_status(host, done, COMPLETE)
    marker, held = Handle(), Handle()
    host.call("clEnqueueMarkerWithWaitList", queue, 1, handles(gate), ctypes.byref(held))
    host.call("clEnqueueMarkerWithWaitList", queue, 1, handles(done), ctypes.byref(marker))
    assert (host.status(marker), host.status(held)) == (COMPLETE, QUEUED)
    set_status(host, gate, COMPLETE)
    host.release(Event=[gate, done, marker, held], CommandQueue=queue)


def test_what_waits_for_a_marker_in_many_ways_names_each_command_once(
    host: Host, context: Handle, queue: Handle
) -> None:
    source = "kernel void busy(global uint *x) { for (uint k = 0; k < 30000; k++) x[k & 1] += k; }"
    buffer, program = host.buffer(context, 8, data=bytes(8)), host.program(context, source)
    kernel = host.kernel(program, "busy", buffer)
    events = [host.launch(queue, kernel, [1])]
    for _ in range(64):  # each waits for the one before as the queue's last and as the list's only one
        marker = Handle()
        host.call("clEnqueueMarkerWithWaitList", queue, 1, handles(events[-1]), ctypes.byref(marker))
        events.append(marker)
    host.write(queue, buffer, b"done", after=events[-1:])
    assert host.read(queue, buffer, 4) == b"done"
    host.release(Event=events, Kernel=kernel, Program=program, MemObject=buffer)


def test_a_user_event_can_be_set_after_its_release_as_long_as_something_waits_for_it(
    host: Host, context: Handle, queue: Handle
) -> None:
    gate, marker = user_event(host, context), Handle()
    host.call("clEnqueueMarkerWithWaitList", queue, 1, handles(gate), ctypes.byref(marker))
    host.release(Event=gate)
    assert host.status(marker) == QUEUED
    for refused in (lambda: host.status(gate), lambda: host.release(Event=gate)):
        with pytest.raises(Refused, match="CL_INVALID_EVENT"):
            refused()
    set_status(host, gate, COMPLETE)
    assert host.status(marker) == COMPLETE
    lonely = user_event(host, context)
    host.release(Event=lonely)
    for released in (gate, lonely, marker):
        with pytest.raises(Refused, match="CL_INVALID_EVENT"):
            set_status(host, released, COMPLETE)
    host.release(Event=marker)


def test_threads_that_fill_what_waits_and_callbacks_that_check_it(host: Host) -> None:
    """Hosts that work in turns with the device: a thread fills what a write brings that was enqueued before, and
    opens the gate, which the host has released meanwhile; the read's callback begins the thread that checks."""
    context, words, right = host.context(), 1 << 14, [threading.Event() for _ in range(4)]
    program, kept, checkers = host.program(context, STEP), [], []

    def fill(data: ctypes.Array[ctypes.c_int], gate: Handle, one: int) -> None:
        data[:] = [one] * words
        set_status(host, gate, COMPLETE)

    def work(one: int) -> None:
        queue, gate, done = host.queue(context), user_event(host, context), Handle()
        data, buffer = (ctypes.c_int * words)(), host.buffer(context, 4 * words)
        where = (ctypes.c_size_t(0), ctypes.c_size_t(4 * words), data)

        def check() -> None:
            if list(data) == [one * 7] * words:
                right[one].set()

        def notify(_event: int, status: int, _data: int | None) -> None:
            checkers.append(threading.Thread(target=check))
            if status == COMPLETE:
                checkers[-1].start()

        called = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(notify)
        host.call("clEnqueueWriteBuffer", queue, buffer, 0, *where, 1, handles(gate), None)
        kernel = host.kernel(program, "step", buffer, ints(7))
        host.release(Event=host.launch(queue, kernel, [words], [256]))
        host.call("clEnqueueReadBuffer", queue, buffer, 0, *where, 0, None, ctypes.byref(done))
        host.call("clSetEventCallback", done, COMPLETE, called, None)
        filler = threading.Thread(target=fill, args=(data, gate, one))
        host.release(Event=[gate, done])
        filler.start()
        kept.append((called, data, {"CommandQueue": queue, "MemObject": buffer, "Kernel": kernel}, filler))

    workers = [threading.Thread(target=work, args=(one,)) for one in range(len(right))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    host.release(Context=context)
    assert [each.wait(60) for each in right] == [True] * len(right)
    for _, _, objects, filler in kept:  # functions and memory live until here
        filler.join()
        host.release(**objects)
    for checker in checkers:
        checker.join()
    host.release(Program=program)


def test_callbacks_come_once_in_a_thread_that_may_call_opencl(host: Host, context: Handle, queue: Handle) -> None:
    said: list[tuple[int, int]] = []
    told = threading.Event()
    buffer = host.buffer(context, 4, data=b"abcd")

    def notify(event: int, status: int, data: int | None) -> None:
        said.append((status, host.status(Handle(event))))
        if len(said) == 2:
            told.set()

    called = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(notify)
    gate = user_event(host, context)
    event = host.write(queue, buffer, b"x", after=[gate])
    for status in (SUBMITTED, COMPLETE):
        host.call("clSetEventCallback", event, status, called, None)
    assert said == []
    set_status(host, gate, COMPLETE)
    assert told.wait(60)
    assert sorted(status for status, _ in said) == [COMPLETE, SUBMITTED]
    with pytest.raises(Refused, match="CL_INVALID_VALUE"):
        host.call("clSetEventCallback", event, QUEUED, called, None)
    host.release(Event=[event, gate], MemObject=buffer)


def test_what_a_launch_refuses(host: Host, context: Handle, queue: Handle) -> None:
    source = STEP + "__attribute__((reqd_work_group_size(4, 2, 1))) kernel void two(local int *l) { l[0] = 1; }"
    buffer, program = host.buffer(context, 16), host.program(context, source)
    step, two = host.kernel(program, "step", buffer), host.kernel(program, "two", 64)
    with pytest.raises(Refused, match="CL_INVALID_KERNEL_ARGS"):
        host.launch(queue, step, [4])
    host.argument(step, 1, ints(1))
    for code, kernel, size, local in (
        ("CL_INVALID_WORK_DIMENSION", step, [1, 1, 1, 1], None),
        ("CL_INVALID_GLOBAL_WORK_SIZE", step, [0], None),
        ("CL_INVALID_WORK_GROUP_SIZE", step, [4], [3]),
        ("CL_INVALID_WORK_GROUP_SIZE", step, [2048, 1], [1024, 0]),
        ("CL_INVALID_WORK_GROUP_SIZE", step, [64, 64], [64, 64]),
        ("CL_INVALID_WORK_ITEM_SIZE", step, [2048], [2048]),
        ("CL_INVALID_WORK_GROUP_SIZE", two, [4, 3], None),
        ("CL_INVALID_WORK_GROUP_SIZE", two, [4, 4], [2, 4]),
    ):
        with pytest.raises(Refused, match=code):
            host.launch(queue, kernel, size, local)
    with pytest.raises(Refused, match="CL_INVALID_GLOBAL_OFFSET"):
        host.launch(queue, step, [4], offset=[2**32 - 2])
    host.release(Event=host.launch(queue, two, [4, 4]))  # in groups as the kernel requires
    host.argument(two, 0, 20000)
    with pytest.raises(Refused, match="CL_OUT_OF_RESOURCES"):
        host.launch(queue, two, [4, 2], [4, 2])
    host.release(MemObject=buffer)
    with pytest.raises(Refused, match="CL_INVALID_KERNEL_ARGS"):
        host.launch(queue, step, [4])
    host.release(Kernel=[step, two], Program=program)


def test_local_memory_that_adds_up_to_more_than_a_number_holds_is_refused(
    host: Host, context: Handle, queue: Handle
) -> None:
    program = host.program(context, "kernel void two(local int *a, local int *b) { a[0] = b[0] = 1; }")
    kernel = host.kernel(program, "two", (1 << 63) + 64, 1 << 63)
    with pytest.raises(Refused, match="CL_OUT_OF_RESOURCES"):
        host.launch(queue, kernel, [1])
    host.release(Kernel=kernel, Program=program)


def test_a_kernel_that_faults_fails_its_event_and_the_log_says_why(
    host: Host, context: Handle, queue: Handle, log: Path
) -> None:
    source = "kernel void wild(global int *x) { *(global int *)((uint)x | 1) = 1; }"
    buffer, program = host.buffer(context, 4), host.program(context, source)
    event = host.launch(queue, host.kernel(program, "wild", buffer), [1])
    with pytest.raises(Refused, match="CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"):
        host.call("clWaitForEvents", 1, handles(event))
    assert host.status(event) == number("CL_OUT_OF_RESOURCES")
    host.call("clFinish", queue)
    assert "store_misaligned in" in log.read_text()
    host.release(Event=event, MemObject=buffer, Program=program)


def test_migration_and_tasks(host: Host, context: Handle, queue: Handle) -> None:
    buffer, program = host.buffer(context, 4, data=ints(5)), host.program(context, STEP)
    kernel = host.kernel(program, "step", buffer, ints(2))
    host.call("clEnqueueMigrateMemObjects", queue, 1, handles(buffer), ctypes.c_uint64(1), 0, None, None)
    host.call("clEnqueueTask", queue, kernel, 0, None, None)
    assert struct.unpack("<i", host.read(queue, buffer, 4)) == (10,)
    with pytest.raises(Refused, match="CL_INVALID_VALUE"):
        host.call("clEnqueueMigrateMemObjects", queue, 0, None, ctypes.c_uint64(1), 0, None, None)
    host.release(Kernel=kernel, Program=program, MemObject=buffer)
