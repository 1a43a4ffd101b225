# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Objects: counts, handles that are none, and the dispatch table."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from eddy.opencl.standard import number
from opencl_kit import TABLE, Handle, Host, Refused, handles, sizes

RELEASES = {
    "clReleaseContext": "CL_INVALID_CONTEXT",
    "clReleaseCommandQueue": "CL_INVALID_COMMAND_QUEUE",
    "clReleaseMemObject": "CL_INVALID_MEM_OBJECT",
    "clReleaseSampler": "CL_INVALID_SAMPLER",
    "clReleaseProgram": "CL_INVALID_PROGRAM",
    "clReleaseKernel": "CL_INVALID_KERNEL",
    "clReleaseEvent": "CL_INVALID_EVENT",
}


def test_the_table_has_every_entry_point_and_only_direct3d_is_empty(host: Host) -> None:
    assert len(TABLE) == 149
    empty = [place for place, name in enumerate(TABLE) if name == "NULL"]
    assert [place for place in range(len(TABLE)) if host.address(place) is None] == empty
    assert len(empty) == 16
    assert len({name for name in TABLE if name.startswith("cl")}) == 90


@pytest.mark.parametrize(("call", "code"), RELEASES.items())
def test_what_is_no_object_is_refused(host: Host, call: str, code: str) -> None:
    somewhere = ctypes.create_string_buffer(64)
    for wild in (None, 0xDEAD0, ctypes.addressof(somewhere), host.device.value):
        with pytest.raises(Refused) as refused:
            host.call(call, Handle(wild))
        assert refused.value.name == code


def test_counts_go_up_and_down_and_end(host: Host, context: Handle) -> None:
    buffer, asked = host.buffer(context, 64), number("CL_MEM_REFERENCE_COUNT")
    host.call("clRetainMemObject", buffer)
    assert host.ask("clGetMemObjectInfo", buffer, asked) == 2
    host.call("clReleaseMemObject", buffer)
    assert host.ask("clGetMemObjectInfo", buffer, asked) == 1
    host.call("clReleaseMemObject", buffer)
    with pytest.raises(Refused, match="CL_INVALID_MEM_OBJECT"):
        host.ask("clGetMemObjectInfo", buffer, asked)


def test_what_others_need_lives_on_unseen(host: Host) -> None:
    context = host.context()
    queue, buffer = host.queue(context), host.buffer(context, 8, data=b"resident")
    host.call("clReleaseContext", context)
    with pytest.raises(Refused, match="CL_INVALID_CONTEXT"):
        host.buffer(context, 8)
    assert host.read(queue, buffer, 8) == b"resident"
    host.call("clReleaseMemObject", buffer)
    host.call("clReleaseCommandQueue", queue)
    with pytest.raises(Refused, match="CL_INVALID_COMMAND_QUEUE"):
        host.call("clFinish", queue)


def test_a_released_handle_is_not_the_next_object(host: Host, context: Handle) -> None:
    old = host.buffer(context, 8)
    host.call("clReleaseMemObject", old)
    others = [host.buffer(context, 8) for _ in range(20)]
    assert old.value not in {other.value for other in others}
    for other in others:
        host.call("clReleaseMemObject", other)


def test_objects_of_another_context_are_refused(host: Host, context: Handle, queue: Handle) -> None:
    other = host.context()
    foreign = host.buffer(other, 8)
    with pytest.raises(Refused, match="CL_INVALID_CONTEXT"):
        host.read(queue, foreign, 8)
    event = host.call("clCreateUserEvent", other)
    own = host.buffer(context, 8)
    with pytest.raises(Refused, match="CL_INVALID_CONTEXT"):
        host.read(queue, own, 8, after=[event])
    for each, call in ((foreign, "clReleaseMemObject"), (own, "clReleaseMemObject"), (event, "clReleaseEvent")):
        host.call(call, each)
    host.call("clReleaseContext", other)


def test_a_refusal_is_a_line_in_the_log(host: Host, context: Handle, log: Path) -> None:
    with pytest.raises(Refused, match="CL_INVALID_BUFFER_SIZE"):
        host.buffer(context, 1 << 40)
    assert f"clCreateBuffer: {number('CL_INVALID_BUFFER_SIZE')}: a buffer of {1 << 40} bytes" in log.read_text()


def test_what_eddy_has_not_is_refused(host: Host, context: Handle, queue: Handle) -> None:
    with pytest.raises(Refused, match="CL_INVALID_OPERATION"):
        host.call("clEnqueueNativeKernel", queue, None, None, ctypes.c_size_t(0), 0, None, None, 0, None, None)
    properties = (ctypes.c_ssize_t * 3)(0x1086, 1, 0)
    with pytest.raises(Refused, match="CL_INVALID_VALUE"):
        host.call("clCreateSubDevices", host.device, properties, 0, None, None)
    refuse_6 = TABLE.index("refuse_6")
    code = ctypes.c_int()
    made = ctypes.CFUNCTYPE(ctypes.c_void_p)(host.address(refuse_6) or 0)(
        context, None, None, None, None, ctypes.byref(code)
    )
    assert (made, code.value) == (None, number("CL_INVALID_OPERATION"))


def test_properties_of_contexts_are_checked(host: Host) -> None:
    user_sync = number("CL_CONTEXT_INTEROP_USER_SYNC")
    for wrong in ((user_sync, 7), (0x7777, 1), (user_sync, 1, user_sync, 1)):
        with pytest.raises(Refused, match="CL_INVALID_PROPERTY"):
            host.make("clCreateContext", sizes(*wrong, 0), 1, handles(host.device), None, None)


def test_wait_lists_are_lists_of_events(host: Host, context: Handle, queue: Handle) -> None:
    buffer = host.buffer(context, 8)
    for count, given in ((1, None), (0, handles(buffer)), (1, handles(buffer)), (2, handles(Handle(16), Handle(0)))):
        with pytest.raises(Refused, match="CL_INVALID_EVENT_WAIT_LIST"):
            host.call("clEnqueueMarkerWithWaitList", queue, count, given, None)
    host.call("clReleaseMemObject", buffer)
