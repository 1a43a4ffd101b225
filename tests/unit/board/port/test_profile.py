# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Profiles parse, and a wrong one says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from eddy.board.overlay import memory_bytes_per_cycle
from eddy.board.port.profile import load_profile, parse_profile, profile_names
from eddy.core.errors import InvalidRequest, NotFound

GOOD = """
board: b
part: p
shell_hz: 1.0e+8
slots: [{pool: pipeline, image_bytes: 100, clk_hz: 1.0e+8}]
configuration: {kind: pcap, bytes_per_s: 1.0e+8, storage_bytes_per_s: 1.0e+7, source: here}
dram: {base: 0, bytes: 65536, banks: 2, row_bytes: 1024, rcd_ns: 1, rp_ns: 1, cl_ns: 1, ras_ns: 1, bytes_per_s: 1.0e+9}
arena: {base: 4096, bytes: 8192}
memory_share: 0.5
requires_signature: false
"""


def good() -> dict[str, Any]:
    data = yaml.safe_load(GOOD)
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_parses_and_keeps_its_name(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert [slot.region for slot in profile.slots] == [f"slot{i}" for i in range(len(profile.slots))]


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(NotFound, match="zcu106"):
        load_profile("zcu1006")


@pytest.mark.parametrize(
    "field", ["board", "slots", "configuration", "dram", "arena", "memory_share", "requires_signature"]
)
def test_a_missing_field_is_named(field: str) -> None:
    data = good()
    del data[field]
    with pytest.raises(InvalidRequest, match=field):
        parse_profile("x", data)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("slots", [], "1 to 10 slots"),
        ("arena", {"base": 0, "bytes": 1 << 20}, "inside the DRAM"),
        ("arena", {"base": 100, "bytes": 4096}, "page aligned"),
        ("memory_share", 0, "memory_share"),
        ("memory_share", 1.5, "memory_share"),
        ("dram", {"base": 0}, "dram|Dram"),
        ("memory_bits", 32, "64 or 128 bits, not 32"),
    ],
)
def test_a_wrong_field_is_refused(field: str, value: object, message: str) -> None:
    data = good() | {field: value}
    with pytest.raises(InvalidRequest, match=message):
        parse_profile("x", data)


def test_the_cache_is_for_ports_of_64_bits() -> None:
    assert parse_profile("x", good() | {"memory_bits": 128}).memory_bits == 128
    with pytest.raises(InvalidRequest, match="words of 64 bits"):
        parse_profile("x", good() | {"memory_bits": 128, "cache_bytes": 1024})


def test_ports_of_128_bits_move_twice_the_bytes() -> None:
    narrow, wide = load_profile("tiny"), load_profile("tiny_wide")
    assert (memory_bytes_per_cycle(narrow), memory_bytes_per_cycle(wide)) == (16, 32)
    assert (wide.slots, wide.shell_hz, wide.configuration) == (narrow.slots, narrow.shell_hz, narrow.configuration)
    # Where memory gives less, that is what is shared.
    slow = parse_profile("x", good() | {"memory_bits": 128})
    assert memory_bytes_per_cycle(slow) == 10


GPU = [{"pool": "pipeline", "image_bytes": 1, "clk_hz": 1e8}, {"pool": "gpu", "image_bytes": 1, "clk_hz": 1e8}]


def test_configurations_name_a_module_for_every_slot_of_the_gpu_pool() -> None:
    data = good() | {"slots": GPU, "configurations": {"CFG1": {1: "gpu_1c4w4t"}}}
    assert parse_profile("x", data).configurations == {"CFG1": {1: "gpu_1c4w4t"}}
    assert load_profile("tiny").configurations == {}
    for wrong in ({}, {0: "a", 1: "b"}, {2: "a"}):
        with pytest.raises(InvalidRequest, match="CFG1 names slots"):
            parse_profile("x", data | {"configurations": {"CFG1": wrong}})
    with pytest.raises(InvalidRequest):
        parse_profile("x", data | {"configurations": {"CFG1": "gpu_1c4w4t"}})


def test_an_engines_rate_follows_from_its_words_and_the_clock() -> None:
    data = good()
    engine = {"kind": "icap", "words_per_cycle": 1, "storage_bytes_per_s": 1e7, "source": "here"}
    assert parse_profile("x", {**data, "configuration": engine}).configuration.bytes_per_s == 4e8
    twice = {**data, "shell_hz": 2e8, "configuration": engine}
    assert parse_profile("x", twice).configuration.bytes_per_s == 8e8


@pytest.mark.parametrize(
    "change", [{"kind": "icap"}, {"words_per_cycle": 1}, {"kind": "icap", "words_per_cycle": 1, "bytes_per_s": 1.0}]
)
def test_a_rate_is_stated_or_derived_and_not_both(change: dict[str, Any]) -> None:
    data = good()
    with pytest.raises(InvalidRequest, match="states"):
        parse_profile("x", {**data, "configuration": {**data["configuration"], **change}})


def test_a_profile_that_extends_another_may_have_an_engine_instead_of_its_port() -> None:
    port = load_profile("kv260_icap").configuration
    assert (port.kind, port.words_per_cycle, port.bytes_per_s) == ("icap", 2, 8e8)
    assert port.engine_hz == 200e6
    plain = load_profile("kv260").configuration
    assert (plain.words_per_cycle, plain.engine_hz) == (0, 0)
