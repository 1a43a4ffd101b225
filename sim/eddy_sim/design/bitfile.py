# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Xilinx `.bit` files: the header as Vivado writes it, and the payload of the simulated board's images.

The header is five tagged fields: ``a`` design name with options, ``b`` part, ``c`` date, ``d`` time, ``e`` length and
payload. `pynq` and every other loader reads these. The payload is what the configuration port takes, byte by byte:

- bus-width detection and the synchronisation word (Ref: UG570, table "Bitstream Composition"),
- an *identity record*: ``EDDY``, its length, and canonical JSON saying what the image is,
- pseudo-random bytes drawn from the identity, so that no two images are alike and nothing compresses away,
- a CRC-32 over all that precedes it, which the configuration port checks as a device checks its own,
- the command DESYNC, with which an image ends.

Everything is a function of the identity: the same sources and toolchain give the same file, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from eddy.core.errors import InvalidRequest

_PREAMBLE = bytes.fromhex("0ff00ff00ff00ff000")
_DATE = "2025/01/01"
_TIME = "00:00:00"
_TOOL = "Eddy"
_SYNC = struct.pack(">14I", *[0xFFFFFFFF] * 8, 0x000000BB, 0x11220044, 0xFFFFFFFF, 0xFFFFFFFF, 0xAA995566, 0x20000000)
_MAGIC = b"EDDY"
_END = struct.pack(">2I", 0x30008001, 0x0000000D)
_CRC_BYTES = 4
MINIMUM_BYTES = 1024
"""Smallest payload that holds the identity record with room to spare."""


@dataclass(frozen=True, slots=True)
class BitHeader:
    """The readable fields of a `.bit` file.

    Attributes:
        design: Name of the design and its options, ``;``-separated, as Vivado writes them.
        part: Device part.
        date: ``YYYY/MM/DD``; fixed in files made here, for the sake of reproducibility.
        time: ``HH:MM:SS``; fixed likewise.
        bytes: Length of the payload.
        offset: Where the payload begins in the file.
    """

    design: str
    part: str
    date: str
    time: str
    bytes: int
    offset: int

    @property
    def partial(self) -> bool:
        """Whether the file says of itself that it is a partial bitstream."""
        return "PARTIAL=TRUE" in self.design.split(";")


@dataclass(frozen=True, slots=True)
class Identity:
    """What an image is, as its payload records it.

    Attributes:
        module: Name of the reconfigurable module; of the overlay for a full image.
        build: Hash of the module's sources and toolchain, 16 hex digits.
        shell: Hash of the static region it was built for, 16 hex digits.
        slot: Index of the slot it was built for; -1 for a full image.
        part: Device part it was built for.
    """

    module: str
    build: str
    shell: str
    slot: int
    part: str

    def canonical(self) -> bytes:
        """The identity as canonical JSON."""
        return canonical_json(asdict(self))


def canonical_json(value: Mapping[str, object]) -> bytes:
    """JSON with sorted keys and no spaces, in UTF-8: one value, one text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def header(design: str, part: str, payload_bytes: int) -> bytes:
    """The bytes of a `.bit` file up to its payload."""
    fields = [(b"a", design), (b"b", part), (b"c", _DATE), (b"d", _TIME)]
    out = struct.pack(">H", len(_PREAMBLE)) + _PREAMBLE + struct.pack(">H", 1)
    for tag, text in fields:
        data = text.encode("ascii") + b"\0"
        out += tag + struct.pack(">H", len(data)) + data
    return out + b"e" + struct.pack(">I", payload_bytes)


def payload(identity: Identity, payload_bytes: int) -> bytes:
    """The payload of an image, `payload_bytes` long.

    Raises:
        InvalidRequest: The length is not a multiple of four, or too short for the identity record.
    """
    if payload_bytes % 4 or payload_bytes < MINIMUM_BYTES:
        raise InvalidRequest(
            f"an image of {payload_bytes} bytes cannot be made; give a multiple of 4 of at least {MINIMUM_BYTES}",
            field="image_bytes",
            asked=payload_bytes,
        )
    start = _start(identity)
    fill = hashlib.shake_128(identity.canonical()).digest(payload_bytes - len(start) - _CRC_BYTES - len(_END))
    body = start + fill
    return body + struct.pack(">I", zlib.crc32(body)) + _END


def _start(identity: Identity) -> bytes:
    """A payload up to where its pseudo-random bytes begin."""
    text = identity.canonical()
    return _SYNC + _MAGIC + struct.pack(">I", len(text)) + text


def design_name(identity: Identity) -> str:
    """Field ``a`` as Vivado composes it."""
    partial = ";PARTIAL=TRUE" if identity.slot >= 0 else ""
    return f"{identity.module}{partial};COMPRESS=FALSE;UserID=0X{identity.build[-8:].upper()};Version={_TOOL}"


def make(identity: Identity, payload_bytes: int) -> bytes:
    """A whole `.bit` file."""
    return header(design_name(identity), identity.part, payload_bytes) + payload(identity, payload_bytes)


def is_file_of(data: bytes, identity: Identity, payload_bytes: int) -> bool:
    """Whether a file is that of an identity, whole: what it says of itself, its length, and its CRC-32.

    This takes a tenth of the time of making it again to compare.
    """
    head = header(design_name(identity), identity.part, payload_bytes)
    whole = len(data) == len(head) + payload_bytes and data.startswith(head + _start(identity))
    return whole and crc_ok(data[len(head) :])


def parse_header(data: bytes) -> BitHeader:
    """Read the header of a `.bit` file.

    Raises:
        InvalidRequest: The data is not a `.bit` file, or ends early.
    """
    try:
        return _parse_header(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"not a .bit file: its header cannot be read ({error})", field="file") from error


def _parse_header(data: bytes) -> BitHeader:
    (skip,) = struct.unpack_from(">H", data, 0)
    offset = 2 + skip + 2
    fields: dict[str, str] = {}
    while data[offset : offset + 1] != b"e":
        tag = data[offset : offset + 1].decode("ascii")
        if tag not in ("a", "b", "c", "d"):
            raise InvalidRequest(f"not a .bit file: unknown header field {tag!r}", field="file")
        (length,) = struct.unpack_from(">H", data, offset + 1)
        offset += 3
        fields[tag] = data[offset : offset + length].decode("ascii").rstrip("\0")
        offset += length
    (length,) = struct.unpack_from(">I", data, offset + 1)
    offset += 5
    design, part, date, time = (fields.get(tag, "") for tag in "abcd")
    return BitHeader(design, part, date, time, length, offset)


def split(data: bytes) -> tuple[BitHeader, bytes]:
    """Header and payload of a `.bit` file.

    Raises:
        InvalidRequest: The data is not a `.bit` file, or its payload is not as long as its header says.
    """
    head = parse_header(data)
    body = data[head.offset :]
    if len(body) != head.bytes:
        raise InvalidRequest(
            f"the .bit file is cut short: its header promises {head.bytes} bytes, {len(body)} follow", field="file"
        )
    return head, body


def read_bit(path: Path) -> tuple[BitHeader, bytes]:
    """Header and payload of the `.bit` file at `path`; errors as `split`."""
    return split(path.read_bytes())


def crc_ok(body: bytes) -> bool:
    """Whether a payload's CRC-32 holds: what the configuration port checks when the last byte is in."""
    if len(body) <= _CRC_BYTES + len(_END) or not body.endswith(_END):
        return False
    end = len(body) - len(_END)
    return zlib.crc32(body[: end - _CRC_BYTES]) == int.from_bytes(body[end - _CRC_BYTES : end], "big")


def identity_of(body: bytes) -> Identity:
    """The identity record of a payload.

    Raises:
        InvalidRequest: The payload carries none, or a damaged one.
    """
    at = len(_SYNC)
    if body[:at] != _SYNC or body[at : at + 4] != _MAGIC:
        raise InvalidRequest("the payload carries no identity record; was it made for another board?", field="file")
    try:
        (length,) = struct.unpack_from(">I", body, at + 4)
        found = Identity(**json.loads(body[at + 8 : at + 8 + length]))
        int(found.build, 16)
        sound = isinstance(found.slot, int) and all(
            type(text) is str for text in (found.module, found.shell, found.part)
        )
        if not sound:
            raise ValueError("a field is of another type")
        return found
    except (ValueError, TypeError, RecursionError, struct.error) as error:
        raise InvalidRequest(f"the payload's identity record is damaged ({error})", field="file") from error
