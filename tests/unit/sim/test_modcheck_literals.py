# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The numbers of a module's sources, and where they come up in the memory a check gives it."""

from pathlib import Path

from eddy_sim.modcheck.literals import Literal, literals
from eddy_sim.modcheck.port import PAGE_BYTES, Memory

SOURCE = """
localparam logic [15:0] MAGIC = 16'hBE_EF;  // not 16'hDEAD
localparam int TIMES = 3_000;
assign a = b[299:296] == 4'd9 && c == 64'hFFFF_0000_FFFF_0000 || d == 12'b1111_0000_1111;
/* 77777 */ assign s = "88888";
assign x = e == 16'hxxxx ? 'd70000 : real_q * 1.5;
"""


def test_numbers_that_chance_does_not_meet(tmp_path: Path) -> None:
    source = tmp_path / "core.sv"
    source.write_text(SOURCE)
    wanted = {(0xBEEF, 2), (3000, 2), (299, 2), (296, 2), (0xFFFF_0000_FFFF_0000, 8), (0xF0F, 2), (70000, 4)}
    assert {(number.value, number.width_bytes) for number in literals([source, source])} == wanted


def test_each_number_comes_up_in_each_place() -> None:
    memory = Memory(5, literals=(Literal(0xBEEF, 2), Literal(0x600DCAFE, 4), Literal(1 << 60, 8)))
    words = [memory.word(address) for address in range(0, PAGE_BYTES, 8)]
    assert {at for word in words for at in range(4) if word >> 16 * at & 0xFFFF == 0xBEEF} == {0, 1, 2, 3}
    assert {at for word in words for at in range(2) if word >> 32 * at & 0xFFFF_FFFF == 0x600DCAFE} == {0, 1}
    assert 1 << 60 in words
    assert words[1::2] == [Memory(5).word(address) for address in range(8, PAGE_BYTES, 16)], "others stay random"
    small = Memory(5, most=15, literals=memory.literals)
    assert max(max(small.page(0)), max(small.page(1))) <= 15
