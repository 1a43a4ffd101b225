# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The `.bit` files: their header as PYNQ reads it, their payload, and that damage shows."""

from __future__ import annotations

import dataclasses
import hashlib
import zlib

import pytest
from eddy.core.errors import InvalidRequest
from eddy_sim.design import bitfile
from eddy_sim.design.bitfile import Identity
from hypothesis import given
from hypothesis import strategies as st
from pynq.pl_server.embedded_device import bit2bin, parse_bit_header

PART = "xck26-sfvc784-2LV-c"
IDENTITY = Identity("dct", "0123456789abcdef", "fedcba9876543210", 2, PART)


def test_pynq_reads_the_header() -> None:
    data = bitfile.make(IDENTITY, 20000)
    fields = parse_bit_header(data)
    assert fields["part"] == PART
    assert fields["design"] == "dct"
    assert fields["length"] == "20000"
    assert len(fields["data"]) == 20000
    assert len(bit2bin(data)) == 20000


def test_our_reader_agrees_with_pynq() -> None:
    data = bitfile.make(IDENTITY, 4096)
    theirs, (head, body) = parse_bit_header(data), bitfile.split(data)
    assert (head.part, head.date, head.time) == (theirs["part"], theirs["date"], theirs["time"])
    assert body == theirs["data"]
    assert head.bytes == 4096
    assert head.partial
    assert not bitfile.split(bitfile.make(Identity("eddy", "0" * 16, "0" * 16, -1, PART), 4096))[0].partial


def test_the_payload_says_what_it_is() -> None:
    assert bitfile.identity_of(bitfile.payload(IDENTITY, 2048)) == IDENTITY


def test_the_same_identity_gives_the_same_file_and_another_one_another() -> None:
    one, two = bitfile.make(IDENTITY, 8192), bitfile.make(IDENTITY, 8192)
    other = bitfile.make(Identity("dct", "0123456789abcdef", "fedcba9876543210", 3, PART), 8192)
    assert one == two
    assert one != other
    same = sum(a == b for a, b in zip(one[-4096:], other[-4096:], strict=True))
    assert same < 64, "payloads of two images must differ nearly everywhere"


def test_the_payload_is_not_padding() -> None:
    body = bitfile.payload(IDENTITY, 65536)
    assert len(zlib.compress(body)) > 0.98 * len(body)


@given(st.integers(min_value=0, max_value=8 * 2048 - 1))
def test_any_flipped_bit_of_the_payload_shows(bit: int) -> None:
    body = bytearray(bitfile.payload(IDENTITY, 2048))
    assert bitfile.crc_ok(bytes(body))
    before = hashlib.sha256(body).digest()
    body[bit // 8] ^= 1 << bit % 8
    assert not bitfile.crc_ok(bytes(body))
    assert hashlib.sha256(body).digest() != before


@pytest.mark.parametrize("size", [0, 1000, 2050])
def test_a_size_that_cannot_be_is_refused(size: int) -> None:
    with pytest.raises(InvalidRequest, match="multiple of 4"):
        bitfile.payload(IDENTITY, size)


@pytest.mark.parametrize("data", [b"", b"\x00\x09", b"not a bit file at all, but long enough", b"\xff" * 64])
def test_other_data_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidRequest, match=r"not a \.bit file"):
        bitfile.split(data)


def test_a_file_cut_short_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="cut short"):
        bitfile.split(bitfile.make(IDENTITY, 2048)[:-1])


def test_a_payload_without_identity_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="identity"):
        bitfile.identity_of(bytes(2048))
    body = bytearray(bitfile.payload(IDENTITY, 2048))
    body[70] ^= 0xFF
    with pytest.raises(InvalidRequest, match="identity"):
        bitfile.identity_of(bytes(body))


def test_a_file_is_known_by_what_it_says_its_length_and_its_crc() -> None:
    data, size = bitfile.make(IDENTITY, 4096), 4096
    assert bitfile.is_file_of(data, IDENTITY, size)
    for other in (data[:-4], data + bytes(4), data[:-1] + bytes([data[-1] ^ 1]), b"", data[:40] + b"x" + data[41:]):
        assert not bitfile.is_file_of(other, IDENTITY, size)
    assert not bitfile.is_file_of(data, dataclasses.replace(IDENTITY, build="0" * 16), size)
    assert not bitfile.is_file_of(bitfile.make(IDENTITY, 8192), IDENTITY, size)
