# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `clGetKernelInfo` and `clGetKernelArgInfo` tell of kernels, from what the compiler says and, where it has no
word for it (access of images, `restrict`, `volatile`), from the source."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from eddy.gpu.programs.image import SIZES
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.signature import Argument, Kernel
from eddy.opencl.device import GROUP_ITEMS
from eddy.opencl.standard import number
from eddy.opencl.wire import text

SAMPLER_TYPE = "eddy_sampler"
_KINDS = {"value": 0, "global": 1, "constant": 2, "local": 3}
_IMAGE, _SAMPLER = 4, 5
_ADDRESSES = {"value": "PRIVATE", "global": "GLOBAL", "constant": "CONSTANT", "local": "LOCAL"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_WORDS = r"(?:__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)\s*)"
_HEADING = re.compile(rf"({_WORDS}*)\b(?:__)?kernel\b\s*({_WORDS}*)void\s+({_WORDS}*)(\w+)\s*\(([^{{;]*)\)\s*\{{", re.S)
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\(\s*(.*?)\s*\)\)(?!\))", re.S)


def describe_kernels(kernels: Mapping[str, Kernel], source: str, shape: ClusterShape, local_bytes: int) -> bytes:
    """Kernels as the library reads them.

    Args:
        kernels: By name.
        source: What they were compiled from.
        shape: Of the cluster; a warp is what a group's size had better be a multiple of.
        local_bytes: Local memory of the program's `__local` variables.
    """
    headings = _headings(source)
    entries = (_kernel(kernel, *headings.get(name, ("", [])), shape, local_bytes) for name, kernel in kernels.items())
    return struct.pack("<I", len(kernels)) + b"".join(entries)


def _headings(source: str) -> dict[str, tuple[str, list[str]]]:
    """Attributes and arguments of kernels as they are written, as far as no macro makes them."""
    found = {}
    for *words, name, arguments in _HEADING.findall(_COMMENT.sub(" ", source)):
        attributes = " ".join(re.sub(r"\s+", "", each) for each in _ATTRIBUTE.findall("".join(words)))
        found[name] = (attributes, arguments.split(","))
    return found


def _kernel(kernel: Kernel, attributes: str, written: list[str], shape: ClusterShape, local_bytes: int) -> bytes:
    required = tuple(kernel.group_size) or (0, 0, 0)
    local = local_bytes if kernel.local_variables else 0
    head = struct.pack("<7Q", GROUP_ITEMS, *required, local, kernel.frame_bytes, shape.threads)
    if len(written) != len(kernel.arguments):
        written = [""] * len(kernel.arguments)
    arguments = b"".join(map(_argument, kernel.arguments, written))
    return text(kernel.name) + text(attributes) + head + struct.pack("<I", len(kernel.arguments)) + arguments


def is_image(argument: Argument) -> bool:
    """Whether it is an image."""
    return argument.type in SIZES


def _argument(argument: Argument, written: str) -> bytes:
    image, sampler = is_image(argument), argument.type == SAMPLER_TYPE
    kind = _IMAGE if image else _SAMPLER if sampler else _KINDS[argument.space]
    address = number(f"CL_KERNEL_ARG_ADDRESS_{_ADDRESSES[argument.space]}")
    head = struct.pack("<BIIIQ", kind, argument.size, address, _access(image, written), _qualifiers(argument, written))
    return head + text(_type_name(argument)) + text(argument.name)


def _access(image: bool, written: str) -> int:
    way = "NONE"
    if image:
        asked = re.search(r"\b(?:__)?(read_only|write_only|read_write)\b", written)
        plain = re.fullmatch(r"\s*(?:const\s+)?image\w+_t\s+\w+\s*", written)  # else a macro may say it
        way = asked[1].upper() if asked else "READ_ONLY" if plain else "NONE"
    return number(f"CL_KERNEL_ARG_ACCESS_{way}")


def _qualifiers(argument: Argument, written: str) -> int:
    if not argument.is_pointer or is_image(argument):
        return number("CL_KERNEL_ARG_TYPE_NONE")
    pointer, _, behind = written.rpartition("*")
    found = number("CL_KERNEL_ARG_TYPE_CONST") if argument.const else 0
    if re.search(r"\b(?:__)?restrict\b", behind):
        found |= number("CL_KERNEL_ARG_TYPE_RESTRICT")
    if re.search(r"\bvolatile\b", pointer):
        found |= number("CL_KERNEL_ARG_TYPE_VOLATILE")
    return found


def _type_name(argument: Argument) -> str:
    if argument.type == SAMPLER_TYPE:
        return "sampler_t"
    if is_image(argument):
        return (
            argument.type.removeprefix("struct eddy_")
            .rstrip("*")
            .replace("image_1d", "image1d")
            .replace("image_2d", "image2d")
            .replace("image_3d", "image3d")
            + "_t"
        )
    return argument.type
