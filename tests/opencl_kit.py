# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""OpenCL calls through the platform's dispatch table, as an ICD loader makes them, without one."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eddy.opencl.standard import number, numbers
from eddy.opencl.vendors import library_path

NATIVE = Path(__file__).resolve().parents[1] / "runtime" / "eddy" / "opencl" / "native"
TABLE = re.findall(r"(\w+),", (NATIVE / "dispatch.c").read_text().partition("dispatch_table[] = {")[2])
"""What is at each place of the table: a function of the standard's, or one that refuses."""


class Refused(Exception):
    """A call was refused.

    Attributes:
        name: Of the standard's code.
    """

    def __init__(self, code: int, call: str) -> None:
        codes = {value: name for name, value in numbers().items() if value < 0}
        self.name = codes.get(code, str(code))
        super().__init__(f"{call}: {self.name}")


class Handle(ctypes.c_void_p):
    """Any object."""


def handles(*given: Any) -> Any:
    """An array of handles, or null."""
    return (ctypes.c_void_p * len(given))(*(each.value for each in given)) if given else None


def sizes(*given: int) -> Any:
    """An array of `size_t`."""
    return (ctypes.c_size_t * len(given))(*given)


class Host:
    """A host: a context and a queue on the platform's only device."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(library_path()))
        self.platform, self.device = Handle(), Handle()
        assert self._library.clIcdGetPlatformIDsKHR(1, ctypes.byref(self.platform), None) == 0
        first = ctypes.cast(self.platform, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))
        self._table = first[0]
        self.call("clGetDeviceIDs", self.platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(self.device), None)

    def address(self, place: int) -> int | None:
        """What is at a place of the dispatch table."""
        address = self._table[place]
        return None if address is None else int(address)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call an entry point; handles and pointers are returned, codes are raised.

        Raises:
            Refused: The code is not success.
        """
        returns_handle = name.startswith(("clCreate", "clLink", "clEnqueueMap")) and not name.startswith(
            ("clCreateKernelsInProgram", "clCreateSubDevices")
        )
        function = ctypes.CFUNCTYPE(ctypes.c_void_p if returns_handle else ctypes.c_int)(
            self._table[TABLE.index(name)] or 0
        )
        if not returns_handle:
            code = function(*arguments)
        else:
            error = ctypes.c_int(1)
            made = function(*arguments, ctypes.byref(error))
            code = error.value
        if code:
            raise Refused(code, name)
        return Handle(made) if returns_handle else None

    def extension(self, name: str) -> Any:
        """An entry point of an extension, which answers with a code."""
        find = self._library.clGetExtensionFunctionAddress
        find.restype = ctypes.c_void_p
        return ctypes.CFUNCTYPE(ctypes.c_int)(find(name.encode()))

    def ask(self, name: str, *about: Any, form: Any = ctypes.c_uint32) -> Any:
        """The answer to a query: a number, or bytes with `form=bytes`."""
        size = ctypes.c_size_t()
        self.call(name, *about, ctypes.c_size_t(0), None, ctypes.byref(size))
        room = (ctypes.c_char * max(1, size.value))()
        self.call(name, *about, size, room, None)
        answer = room.raw[: size.value]
        return answer if form is bytes else form.from_buffer_copy(answer).value

    def make(self, name: str, *arguments: Any) -> Handle:
        """A handle that a call makes."""
        made = self.call(name, *arguments)
        assert isinstance(made, Handle)
        return made

    def context(self) -> Handle:
        """A context."""
        return self.make("clCreateContext", None, 1, handles(self.device), None, None)

    def queue(self, context: Handle, *properties: str) -> Handle:
        """A queue."""
        flags = sum(number(f"CL_QUEUE_{name}") for name in properties)
        return self.make("clCreateCommandQueue", context, self.device, ctypes.c_uint64(flags))

    def buffer(self, context: Handle, size: int, *flags: str, data: bytes | None = None) -> Handle:
        """A buffer, filled with data where there is some."""
        bits = sum(number(f"CL_MEM_{name}") for name in flags) | (number("CL_MEM_COPY_HOST_PTR") if data else 0)
        return self.make("clCreateBuffer", context, ctypes.c_uint64(bits), ctypes.c_size_t(size), data)

    def read(self, queue: Handle, buffer: Handle, size: int, offset: int = 0, after: Sequence[Handle] = ()) -> bytes:
        """Bytes of a buffer, waited for."""
        room = ctypes.create_string_buffer(size)
        where = (ctypes.c_size_t(offset), ctypes.c_size_t(size), room)
        self.call("clEnqueueReadBuffer", queue, buffer, 1, *where, len(after), handles(*after), None)
        return room.raw

    def program(self, context: Handle, source: str, options: str = "") -> Handle:
        """A program, built."""
        made = self.source(context, source)
        self.call("clBuildProgram", made, 0, None, options.encode(), None, None)
        return made

    def source(self, context: Handle, source: str) -> Handle:
        """A program that is not built."""
        texts = (ctypes.c_char_p * 1)(source.encode())
        return self.make("clCreateProgramWithSource", context, 1, texts, None)

    def log(self, program: Handle) -> str:
        """The build log."""
        asked = number("CL_PROGRAM_BUILD_LOG")
        return str(self.ask("clGetProgramBuildInfo", program, self.device, asked, form=bytes).decode().rstrip("\0"))

    def kernel(self, program: Handle, name: str, *arguments: Any) -> Handle:
        """A kernel with arguments: handles, bytes, or an int for bytes of local memory."""
        kernel = self.make("clCreateKernel", program, name.encode())
        for index, value in enumerate(arguments):
            self.argument(kernel, index, value)
        return kernel

    def argument(self, kernel: Handle, index: int, value: Any) -> None:
        """Set an argument."""
        if isinstance(value, ctypes.c_void_p):
            self.call("clSetKernelArg", kernel, index, ctypes.c_size_t(8), ctypes.byref(value))
        elif isinstance(value, int):
            self.call("clSetKernelArg", kernel, index, ctypes.c_size_t(value), None)
        else:
            self.call("clSetKernelArg", kernel, index, ctypes.c_size_t(len(value)), value)

    def launch(
        self,
        queue: Handle,
        kernel: Handle,
        size: Sequence[int],
        local: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
        after: Sequence[Handle] = (),
    ) -> Handle:
        """A launch; its event."""
        event = Handle()
        range_of = (len(size), sizes(*offset) if offset else None, sizes(*size), sizes(*local) if local else None)
        waits = (len(after), handles(*after))
        self.call("clEnqueueNDRangeKernel", queue, kernel, *range_of, *waits, ctypes.byref(event))
        return event

    def write(
        self, queue: Handle, buffer: Handle, data: bytes, offset: int = 0, after: Sequence[Handle] = ()
    ) -> Handle:
        """Bytes to a buffer; its event."""
        event = Handle()
        where = (ctypes.c_size_t(offset), ctypes.c_size_t(len(data)), data)
        self.call("clEnqueueWriteBuffer", queue, buffer, 0, *where, len(after), handles(*after), ctypes.byref(event))
        return event

    def release(self, **objects: Any) -> None:
        """Release objects, by what they are: `MemObject=buffer`, or several of a kind."""
        for kind, given in objects.items():
            for each in given if isinstance(given, (tuple, list)) else (given,):
                self.call(f"clRelease{kind}", each)

    def status(self, event: Handle) -> int:
        """An event's status."""
        return int(self.ask("clGetEventInfo", event, number("CL_EVENT_COMMAND_EXECUTION_STATUS"), form=ctypes.c_int32))
