# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A device as `clGetDeviceInfo` describes it: numbers of the standard to bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from eddy.gpu.programs.layout import LINE_BYTES
from eddy.opencl.session_port import Device
from eddy.opencl.standard import number
from eddy.opencl.wire import text

GROUP_ITEMS = 1024
"""Items of a work-group, and of its first two sides; docs/reference/opencl.md."""
GROUP_DEPTH = 256
LOCAL_TAKEN = 64
"""Bytes of a core's local memory that the runtime keeps."""
IMAGE_SIDE, VOLUME_SIDE, LAYERS, IMAGE_TEXELS = 8192, 2048, 2048, 65536
"""The standard's least, which images in software have no reason to go beyond."""
PARAMETER_BYTES = 1024
PRINTF_BYTES = 1 << 20
EXTENSIONS = (
    "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics "
    "cl_khr_local_int32_extended_atomics cl_khr_byte_addressable_store cl_khr_fp16 cl_khr_fp64 "
    "cl_khr_integer_dot_product cl_khr_subgroups cl_khr_subgroup_ballot cl_khr_subgroup_non_uniform_vote "
    "cl_khr_subgroup_shuffle cl_khr_subgroup_shuffle_relative"
)
_WIDTHS = {"CHAR": 1, "SHORT": 1, "INT": 1, "LONG": 1, "FLOAT": 1, "DOUBLE": 1, "HALF": 1}


def describe(device: Device) -> bytes:
    """All that is known, as the library reads it: how many entries, then each one's number and bytes."""
    entries = [struct.pack("<I", number(name)) + text(data) for name, data in _entries(device)]
    return struct.pack("<I", len(entries)) + b"".join(entries)


def _u32(value: int) -> bytes:
    return struct.pack("<I", value)


def _u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def _string(value: str) -> bytes:
    return value.encode() + b"\0"


def _flags(*names: str) -> bytes:
    return _u64(sum(number(name) for name in names))


def _entries(device: Device) -> Iterator[tuple[str, bytes]]:
    yield from _texts(device)
    yield from _cores(device)
    yield from _memory(device)
    yield from _images(device)
    yield from _rest()


def _texts(device: Device) -> Iterator[tuple[str, bytes]]:
    for name, value in {
        **{"CL_DEVICE_NAME": device.name, "CL_DEVICE_VENDOR": "Eddy", "CL_DRIVER_VERSION": device.version},
        **{"CL_DEVICE_PROFILE": "FULL_PROFILE", "CL_DEVICE_VERSION": "OpenCL 1.2 Eddy"},
        **{"CL_DEVICE_OPENCL_C_VERSION": "OpenCL C 1.2 Eddy", "CL_DEVICE_EXTENSIONS": EXTENSIONS},
        "CL_DEVICE_BUILT_IN_KERNELS": "",
    }.items():
        yield name, _string(value)


def _cores(device: Device) -> Iterator[tuple[str, bytes]]:
    yield "CL_DEVICE_MAX_COMPUTE_UNITS", _u32(device.shape.cores * device.clusters)
    yield "CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS", _u32(3)
    yield "CL_DEVICE_MAX_WORK_GROUP_SIZE", _u64(GROUP_ITEMS)
    yield "CL_DEVICE_MAX_WORK_ITEM_SIZES", struct.pack("<3Q", GROUP_ITEMS, GROUP_ITEMS, GROUP_DEPTH)
    yield "CL_DEVICE_MAX_CLOCK_FREQUENCY", _u32(max(1, device.clock_hz // 1_000_000))
    yield "CL_DEVICE_ADDRESS_BITS", _u32(32)
    for kind, width in _WIDTHS.items():
        yield f"CL_DEVICE_PREFERRED_VECTOR_WIDTH_{kind}", _u32(width)
        yield f"CL_DEVICE_NATIVE_VECTOR_WIDTH_{kind}", _u32(width)
    single = ("CL_FP_DENORM", "CL_FP_INF_NAN", "CL_FP_ROUND_TO_NEAREST", "CL_FP_FMA")
    yield "CL_DEVICE_SINGLE_FP_CONFIG", _flags(*single)
    yield "CL_DEVICE_HALF_FP_CONFIG", _flags(*single)
    yield "CL_DEVICE_DOUBLE_FP_CONFIG", _flags(*single, "CL_FP_ROUND_TO_ZERO", "CL_FP_ROUND_TO_INF")


def _memory(device: Device) -> Iterator[tuple[str, bytes]]:
    yield "CL_DEVICE_GLOBAL_MEM_SIZE", _u64(device.memory_bytes)
    yield "CL_DEVICE_MAX_MEM_ALLOC_SIZE", _u64(device.buffer_bytes)
    yield "CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE", _u64(min(device.buffer_bytes, 1 << 20))
    yield "CL_DEVICE_MAX_CONSTANT_ARGS", _u32(8)
    yield "CL_DEVICE_MAX_PARAMETER_SIZE", _u64(PARAMETER_BYTES)
    yield "CL_DEVICE_LOCAL_MEM_TYPE", _u32(number("CL_LOCAL"))
    yield "CL_DEVICE_LOCAL_MEM_SIZE", _u64(device.shape.local_bytes - LOCAL_TAKEN)
    yield "CL_DEVICE_GLOBAL_MEM_CACHE_TYPE", _u32(number("CL_READ_WRITE_CACHE"))
    yield "CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE", _u32(LINE_BYTES)
    yield "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE", _u64(4096)
    yield "CL_DEVICE_MEM_BASE_ADDR_ALIGN", _u32(1024)
    yield "CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE", _u32(128)
    yield "CL_DEVICE_ERROR_CORRECTION_SUPPORT", _u32(0)
    yield "CL_DEVICE_HOST_UNIFIED_MEMORY", _u32(0)


def _images(device: Device) -> Iterator[tuple[str, bytes]]:
    yield "CL_DEVICE_IMAGE_SUPPORT", _u32(device.images)
    yield "CL_DEVICE_MAX_READ_IMAGE_ARGS", _u32(128)
    yield "CL_DEVICE_MAX_WRITE_IMAGE_ARGS", _u32(8)
    yield "CL_DEVICE_MAX_SAMPLERS", _u32(16)
    for side in ("IMAGE2D_MAX_WIDTH", "IMAGE2D_MAX_HEIGHT"):
        yield f"CL_DEVICE_{side}", _u64(IMAGE_SIDE)
    for side in ("IMAGE3D_MAX_WIDTH", "IMAGE3D_MAX_HEIGHT", "IMAGE3D_MAX_DEPTH"):
        yield f"CL_DEVICE_{side}", _u64(VOLUME_SIDE)
    yield "CL_DEVICE_IMAGE_MAX_BUFFER_SIZE", _u64(IMAGE_TEXELS)
    yield "CL_DEVICE_IMAGE_MAX_ARRAY_SIZE", _u64(LAYERS)


def _rest() -> Iterator[tuple[str, bytes]]:
    yield "CL_DEVICE_TYPE", _flags("CL_DEVICE_TYPE_GPU")
    yield "CL_DEVICE_VENDOR_ID", _u32(0xEDD1)
    for name in ("AVAILABLE", "COMPILER_AVAILABLE", "LINKER_AVAILABLE", "ENDIAN_LITTLE", "PREFERRED_INTEROP_USER_SYNC"):
        yield f"CL_DEVICE_{name}", _u32(1)
    yield "CL_DEVICE_EXECUTION_CAPABILITIES", _flags("CL_EXEC_KERNEL")
    yield "CL_DEVICE_QUEUE_PROPERTIES", _flags("CL_QUEUE_PROFILING_ENABLE", "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE")
    yield "CL_DEVICE_PROFILING_TIMER_RESOLUTION", _u64(10)
    yield "CL_DEVICE_PRINTF_BUFFER_SIZE", _u64(PRINTF_BYTES)
    yield "CL_DEVICE_PARTITION_MAX_SUB_DEVICES", _u32(1)
    yield "CL_DEVICE_PARTITION_PROPERTIES", _u64(0)
    yield "CL_DEVICE_PARTITION_AFFINITY_DOMAIN", _u64(0)
    yield "CL_DEVICE_PARTITION_TYPE", b""
    inputs = [f"CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT{how}_KHR" for how in ("", "_PACKED")]
    yield "CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR", _flags(*inputs)
    for form in ("8BIT", "4x8BIT_PACKED"):  # six of cl_bool: signed, unsigned, mixed, and with saturation
        yield f"CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_{form}_KHR", bytes(24)
