# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Logs of kernels: honest ones are whole, forged ones cost a bounded number of bytes and steps, whatever they hold."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from eddy.gpu.launches.launch import extent, launch
from eddy.gpu.launches.packing import LOG_BYTES, Packing
from eddy.gpu.programs import log, log_format
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.log import MAX_FOREIGN, MAX_LOG_BYTES, MAX_PIECES, Logs, read_log
from eddy.gpu.programs.ndrange import arrange_ndrange
from eddy.gpu.programs.shape import ClusterShape
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.gpu_kit import cluster, compiled

REGION_BYTES = 1 << 24
MAX_MEMORY = 32 << 20
HEAD = 5
Record = list[int]


class Region:
    """A launch's region that counts what is read of it: a program, logs behind it, and "%" everywhere else."""

    def __init__(self, image: bytes, lanes: list[Record]) -> None:
        self.image = image.ljust(-(-len(image) // 64) * 64, b"\0")
        words = np.zeros((len(lanes), LOG_BYTES // 4), "u4")
        for row, found in zip(words, lanes, strict=True):
            row[0] = 4 * len(found)
            row[2 : 2 + len(found)] = found
        self.words, self.reads = words, list[int]()
        self.logs = Logs(REGION_BASE + len(self.image), LOG_BYTES, len(lanes))

    def read(self, at: int, size: int) -> bytes:
        assert 0 <= at <= at + size <= REGION_BYTES
        self.reads.append(size)
        return self.words.tobytes() if at == len(self.image) else b"%" * size

    def text(self) -> str:
        return read_log(self.read, self.image, REGION_BYTES, self.logs)


def record(at: int, *arguments: int, item: tuple[int, int, int] = (0, 0, 0)) -> Record:
    return [4 * (HEAD + len(arguments)), REGION_BASE + at, *item, *arguments]


def filled(one: Record) -> Record:
    """As many of a record as a lane's log holds."""
    return one * ((LOG_BYTES - 8) // (4 * len(one)))


PERCENTS = b"%d" * 2000
FORGED: dict[str, tuple[bytes, Record]] = {
    "nothing": (b"", record(0)),
    "a letter": (b"x\n", record(0)),
    "a width": (b"%999999999d", record(0, 5)),
    "a width without a conversion": (b"%" + b"9" * 4000, record(0, 5)),
    "a precision": (b"%.999999999f", record(0, 0x7F7FFFFF)),
    "a precision of a small number": (b"%.999999999f", record(0, 1)),
    "many precisions": (b"%.999g" * 600, record(0, *[0x7FFFFF] * 400)),
    "flags": (b"%" + b"-+ #0" * 800 + b"d", record(0, 5)),
    "conversions": (PERCENTS, record(0)),
    "conversions that show nothing": (b"%z%.0s" * 600, record(0, 0)),
    "percents": (b"%" * 4095, record(0)),
    "strings": (b"%s" * 600 + b"\0" + b"\xff" * 9000, record(0, *[REGION_BASE + 1300] * 400)),
    "strings of nothing": (b"%.0s" * 600 + b"\0" + b"y" * 9000, record(0, *[REGION_BASE + 2500] * 400)),
    "strings of arrays": (b"%s" * 600, record(0, *(REGION_BASE + 20000 + k for k in range(400)))),
    "strings of nowhere": (b"%s" * 600, record(0, *(0xFFFF0000 + k for k in range(400)))),
    "a format without end": (b"%d" * 40000, record(1, 5)),
    "formats all over": (PERCENTS * 20, record(7)),
    "formats in arrays": (b"", record(30000, 5)),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_log_takes_bounded_memory_and_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (image, one), lanes = FORGED[name], ClusterShape(8, 16, 16).harts
    region = Region(image, [filled([*one[:1], one[1] + lane % 7, *one[2:]]) for lane in range(lanes)])
    shown = count_calls(monkeypatch, log_format.BoundedText, "_shown")
    records = count_calls(monkeypatch, log_format.BoundedText, "record")
    tracemalloc.start()
    try:
        text = region.text()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MAX_MEMORY
    assert len(text.encode()) < MAX_LOG_BYTES + 200
    assert shown[0] <= MAX_PIECES
    assert records[0] <= MAX_PIECES
    assert len(region.reads) <= 1 + MAX_FOREIGN
    assert sum(region.reads) <= lanes * LOG_BYTES + MAX_FOREIGN * log_format.MAX_STRING


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[int]:
    """How often a method is called from now on."""
    calls, real = [0], getattr(owner, name)

    def counted(*arguments: object) -> object:
        calls[0] += 1
        return real(*arguments)

    monkeypatch.setattr(owner, name, counted)
    return calls


@settings(max_examples=200, deadline=None)
@given(
    image=st.binary(max_size=300) | st.text("%0123456789.-+ #hlvdiouxXcsfeEgGaAp\0", max_size=300).map(str.encode),
    words=st.lists(
        st.sampled_from([0, 4, 20, 24, 28, 30, 2040, REGION_BASE, REGION_BASE + 9, 0xFFFFFFFF, 0x7F800000])
        | st.integers(0, (1 << 32) - 1),
        min_size=8,
        max_size=60,
    ),
    used=st.integers(0, (1 << 32) - 1) | st.integers(0, 300),
)
def test_whatever_a_log_holds_a_text_comes_of_it(image: bytes, words: list[int], used: int) -> None:
    region = Region(image, [words, words[::-1], []])
    region.words[:, 0] = used
    text = region.text()
    text.encode()
    assert len(text) <= MAX_LOG_BYTES + 200


def test_what_was_not_shown_is_counted() -> None:
    region = Region(b"%999d\n", [filled(record(0, 1)) for _ in range(64)])
    text = region.text()
    kept, _, note = text.rpartition("\n[")
    records = 64 * ((LOG_BYTES - 8) // 24)
    missing = records - MAX_LOG_BYTES // 1000
    assert len(kept) == MAX_LOG_BYTES
    assert note == f"{missing} printf records of {24 * missing} more bytes were not kept]\n"


def test_lanes_are_put_in_order_and_lost_ones_counted() -> None:
    lanes = [
        record(0, 4, item=(4, 0, 0)) + record(0, 5, item=(4, 0, 0)) + record(0, 9, item=(0, 1, 0)),
        record(0, 1, item=(1, 0, 0)) + record(0, 6, item=(4, 0, 0)),
        [*record(0, 99, item=(0, 0, 2)), 3, 3, 3],
    ]
    region = Region(b"%d ", lanes)
    region.words[:, 1] = (0, 2, 5)
    assert region.text() == "1 4 5 6 9 99 [7 printf calls found no room in the log]\n"


@pytest.mark.parametrize(
    ("template", "words", "text"),
    [
        (b"%d|%5d|%-5d|%05d|%+d|%x|%#X|%o|%u|%c|%%|%5.2f", (-1, 2, 3, 4, 5, 255, 255, 8, -1, 65), None),
        (b"%ld %d", (-1, -1, 7), "-1 7"),
        (b"%lu %hhd", (0, 1, 3), "4294967296 3"),
        (b"%v2hld %v4hhd %v3hlf;%v16q%d", (1, -1, 0x04FF0201, 0x3F800000, 0, 0x40000000, 5, *[0] * 16, 8), None),
        (b"%a %A %a", (0x3FC00000, 0x3F800000, 0x80000000), "0x1.8p+0 0X1P+0 -0x0p+0"),
        (b"%e %g %f", (0x3FC00000, 0x7F800000, 0xFFC00000), "1.500000e+00 inf nan"),
        (b"%p %s.", (0x12AB, 0), "0x000012ab ."),
        (b"%q%d", (1, 2), "2"),
        (b"%d %d", (1,), "1 0"),
        (b"%#o %#o %#x %#6x|%#06x", (8, 0, 0, 10, 10), "010 0 0    0xa|0x000a"),
        (b"%.0d|%05.3d|%-05d|%+.3d|% d|%.10d", (0, 42, 42, 7, 7, -7), "|  042|42   |+007| 7|-0000000007"),
        (b"%+u % x %hd %hhu %hx %hhd", (5, 5, 70000, 300, -1, 200), "5 5 4464 44 ffff -56"),
        (b"%06f|%06.1f|%-6.1F|%+g", (0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800000), "   inf|  -inf|NAN   |+inf"),
        (
            b"%10a|%.2a|%-9a|%.0a|%012a",
            (0x3FC00000, 0x3F9E0610, *[0x3FC00000] * 3),
            "  0x1.8p+0|0x1.3cp+0|0x1.8p+0 |0x1p+1|0x00001.8p+0",
        ),
        (b"%v2hha %07.1v2hhf %d", (0x0201, 0x0201, 5), "0x1p+0,0x1p+1 00001.0,00002.0 5"),
        (b"%lf %lc %ls.%d", (0x3FC00000, 65, 0, 3), "1.500000 A .3"),
        (b"\xc3\xa4\xff%d", (1,), "ä\ufffd1"),
    ],
)
def test_conversions(template: bytes, words: tuple[int, ...], text: str | None) -> None:
    region = Region(template, [record(0, *(word & 0xFFFFFFFF for word in words))])
    vectors = "1,-1 1,2,-1,4 1.000000,0.000000,2.000000;" + "," * 15 + "8"
    text = text or (vectors if b"%v" in template else "-1|    2|3    |00004|+5|ff|0XFF|10|4294967295|A|%| 0.00")
    assert region.text() == text


FORGER = """
kernel void f(global const char *text) {
  constant char *wide = "%999999999d%999999999d%999999999d";
  global uint *lanes = (global uint *)LOGS;
  for (uint k = get_global_id(0); k < LANES; k += get_global_size(0)) {
    global uint *mine = lanes + k * 512;
    mine[0] = 0xffffffff; mine[1] = 0xffffffff;
    for (uint w = 2; w + 6 <= 512; w += 6) {
      mine[w] = 24; mine[w + 1] = (uint)wide; mine[w + 2] = w; mine[w + 5] = (uint)text;
    }
  }
  if (!wide) printf("never");
}
"""


def test_a_kernel_that_forges_its_records_is_read_like_any() -> None:
    shape = ClusterShape(2, 4, 4)
    text = np.full(1 << 20, ord("z"), "i1")
    program = compiled("#define LOGS 0x80000000\n#define LANES 32\n" + FORGER)
    base = Packing(shape, program, "f", arrange_ndrange(shape, program, "f", (32,)), [None], stack_bytes=0)._log_base
    # The array lies before the logs.
    source = f"#define LOGS {base + text.nbytes}u\n#define LANES 32\n" + FORGER
    tracemalloc.start()
    try:
        found = launch(cluster(shape), compiled(source), "f", (32,), [text]).log
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MAX_MEMORY
    assert MAX_LOG_BYTES < len(found) < MAX_LOG_BYTES + 200
    assert "printf records" in found


def test_only_the_logs_are_read_of_a_large_region() -> None:
    program = compiled('kernel void g(global int *a) { printf("%d\\n", a[0]); }')
    array = np.zeros(8 << 20, "i1").view("i4")
    shape = ClusterShape()
    packing = Packing(shape, program, "g", arrange_ndrange(shape, program, "g", (1,)), [extent(array)])
    reads: list[tuple[int, int]] = []

    def read(at: int, size: int) -> bytes:
        reads.append((at, size))
        return bytes(size)

    assert packing.log(read) == ""
    assert [size for _, size in reads] == [ClusterShape().harts * LOG_BYTES]
    assert packing.bytes > array.nbytes
    assert log.MAX_FOREIGN * log_format.MAX_STRING < 1 << 20


def test_l_before_a_number_with_a_point_says_nothing() -> None:
    source = """kernel void f(global float *a) {
      if (get_global_id(0) == 0) printf("%lf %.2lf|%lc%d\\n", a[0], a[1], 65, 5);
    }"""
    for text in (source, source.replace("a[0],", "(double)a[0],")):
        result = launch(cluster(), compiled(text), "f", (4,), [np.array([1.5, 2.25], "f4")])
        assert result.log == "1.500000 2.25|A5\n"
