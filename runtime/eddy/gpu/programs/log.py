# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What kernels print: raw records put together with their formats, by work-items, in bounded time and memory.

Records are whatever a kernel left there, forged ones included. So nothing is believed: only the logs themselves are
read from the board, formats come from the program as it was compiled, and formatting stops at `MAX_LOG_BYTES` of text
or `MAX_PIECES` of work, whatever the records say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eddy.gpu.programs.layout import LOG_WORDS, REGION_BASE
from eddy.gpu.programs.log_format import MAX_STRING, BoundedText, LogFull

MAX_LOG_BYTES = 256 << 10
"""Bytes of text at most, before the lines that say what is missing."""
MAX_PIECES = 1 << 15
"""Conversions, records and 64 bytes of text, each counted as one, that are worked on at most."""
MAX_FOREIGN = 64
"""Strings outside the program, in arrays, that are read at most."""

_HEAD_BYTES = 4 * len(LOG_WORDS)
WIDE = 1
"""Set in a record's first word, its bytes, where its numbers are double."""
Read = Callable[[int, int], bytes]
Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Logs:
    """Where the lanes' logs lie.

    Attributes:
        base: Address of the first lane's.
        stride: Bytes of one.
        lanes: How many there are.
    """

    base: int
    stride: int
    lanes: int


def read_log(read: Read, image: bytes, region_bytes: int, logs: Logs) -> str:
    """All lanes' logs as one text, ordered by global id; each work-item's own lines keep their order.

    Args:
        read: Gives so many bytes from an offset on in the launch's region.
        image: The program, as it lies at the region's beginning: where formats are.
        region_bytes: Size of the region.
        logs: Where they lie.
    """
    raw = read(logs.base - REGION_BASE, logs.stride * logs.lanes)
    words = np.frombuffer(raw, "<u4").reshape(logs.lanes, logs.stride // 4)
    records = _records(words)
    text = BoundedText(MAX_LOG_BYTES, MAX_PIECES, _strings(read, image, region_bytes))
    # Each record is a piece at least, so that no more of them can be shown.
    lanes, first, last = records[:MAX_PIECES].T.astype(np.int64)
    formats, starts = words[lanes, first + 1], lanes * logs.stride + 4 * first
    places = zip(formats.tolist(), (starts + _HEAD_BYTES).tolist(), (starts + 4 * (last - first)).tolist(), strict=True)
    done = 0
    try:
        for address, start, end in places:
            text.record(address, raw[start:end], bool(raw[start - _HEAD_BYTES] & WIDE))
            done += 1
    except LogFull:
        missing = records[done:]
        left = 4 * int((missing[:, 2] - missing[:, 1]).sum(dtype=np.uint64))
        text.note(f"\n[{len(missing)} printf records of {left} more bytes were not kept]\n")
    lost = int(words[:, 1].sum(dtype=np.uint64))
    return str(text) + (f"[{lost} printf calls found no room in the log]\n" if lost else "")


def _records(words: Words) -> Words:
    """Lane, first word and the word behind the last of every record, in the order of global ids.

    The chains of all lanes are followed side by side, a record of each at a time.
    """
    lanes = np.arange(len(words), dtype=np.uint32)
    at = np.full(len(words), 2, np.uint32)
    end = 2 + np.minimum(words[:, 0] // 4, np.uint32(words.shape[1] - 2))
    found = [np.zeros((0, 7), np.uint32)]
    for place in range(words.shape[1] // len(LOG_WORDS)):
        room = at + len(LOG_WORDS) <= end
        lanes, at, end = lanes[room], at[room], end[room]
        length = words[lanes, at] & ~np.uint32(WIDE)
        good = (length >= _HEAD_BYTES) & (length % 4 == 0) & (length // 4 <= end - at)
        lanes, at, end = lanes[good], at[good], end[good]
        if not lanes.size:
            break
        last = at + length[good] // 4
        ids = (words[lanes, at + k] for k in (4, 3, 2))
        found.append(np.stack([*ids, np.full_like(at, place), lanes, at, last], axis=1))
        at = last
    rows = np.concatenate(found)
    order: npt.NDArray[np.intp] = np.lexsort(rows[:, 4::-1].T)
    return np.asarray(rows[order, 4:], np.uint32)


def _strings(read: Read, image: bytes, region_bytes: int) -> Callable[[int], bytes]:
    """Gives the text at an address: of the program, and a bounded number of those in the rest of the region."""
    foreign: dict[int, bytes] = {}

    def string(address: int) -> bytes:
        at = address - REGION_BASE
        if 0 <= at < len(image):
            end = image.find(b"\0", at, at + MAX_STRING)
            return image[at : end if end >= 0 else at + MAX_STRING]
        if not 0 <= at < region_bytes:
            return b""
        if at not in foreign:
            if len(foreign) == MAX_FOREIGN:
                return b"..."
            foreign[at] = read(at, min(MAX_STRING, region_bytes - at)).split(b"\0", 1)[0]
        return foreign[at]

    return string
