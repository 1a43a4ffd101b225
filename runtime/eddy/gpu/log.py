"""What kernels print: raw records put together with their formats, in the order of work-items."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from eddy.gpu.layout import LOG_WORDS, REGION_BASE

_HEAD = struct.Struct(f"<{len(LOG_WORDS)}I")
_CONVERSION = re.compile(rb"%([-+ #0]*)(\d*)(\.\d+)?(hh|hl|h|l)?([a-zA-Z%])")
_MAX_TEXT = 4096


def read_log(memory: bytes | bytearray, base: int, stride: int, lanes: int) -> str:
    """All lanes' logs as one text, ordered by global id; each work-item's own lines keep their order.

    Args:
        memory: A launch's region.
        base: Address of the first lane's log.
        stride: Bytes of a lane's log.
        lanes: How many there are.
    """
    found: list[tuple[tuple[int, int, int], int, str]] = []
    lost = 0
    for lane in range(lanes):
        at = base - REGION_BASE + lane * stride
        used, missed = struct.unpack_from("<II", memory, at)
        lost += missed
        for place, (item, text) in enumerate(_records(memory, at + 8, min(used, stride - 8))):
            found.append((item, place, text))
    found.sort(key=lambda entry: entry[:2])
    text = "".join(part for _, _, part in found)
    return text + (f"[{lost} printf calls found no room in the log]\n" if lost else "")


def _records(memory: bytes | bytearray, at: int, size: int) -> Iterator[tuple[tuple[int, int, int], str]]:
    end = at + size
    while at + _HEAD.size <= end:
        length, address, x, y, z = _HEAD.unpack_from(memory, at)
        if length < _HEAD.size or at + length > end:
            return
        yield (z, y, x), _format(memory, _text(memory, address), bytes(memory[at + _HEAD.size : at + length]))
        at += length


def _text(memory: bytes | bytearray, address: int) -> bytes:
    """A string of the program; "" where the address is none."""
    at = address - REGION_BASE
    if not 0 <= at < len(memory):
        return b""
    return bytes(memory[at : at + _MAX_TEXT]).split(b"\0", 1)[0]


def _format(memory: bytes | bytearray, template: bytes, words: bytes) -> str:
    at = 0

    def take(code: str) -> int | float:
        nonlocal at
        size = struct.calcsize(code)
        if at + size > len(words):
            return 0
        value: int | float = struct.unpack_from(code, words, at)[0]
        at += size
        return value

    def convert(match: re.Match[bytes]) -> bytes:
        flags, width, precision, length, kind = (part.decode() if part else "" for part in match.groups())
        if kind == "%":
            return b"%"
        spec = "%" + flags + width[:3] + precision[:4]
        if kind in "di":
            return ((spec + "d") % take("<q" if length == "l" else "<i")).encode()
        if kind in "ouxXc":
            value = int(take("<Q" if length == "l" else "<I"))
            return ((spec + ("d" if kind == "u" else kind)) % (value & 0xFF if kind == "c" else value)).encode()
        if kind in "fFeEgG":
            return ((spec + kind) % take("<f")).encode()
        if kind == "a":
            return float(take("<f")).hex().encode()
        if kind == "s":
            return ((spec + "s") % _text(memory, int(take("<I"))).decode(errors="replace")).encode()
        if kind == "p":
            return f"0x{int(take('<I')):08x}".encode()
        return match.group(0)

    return _CONVERSION.sub(convert, template).decode(errors="replace")
