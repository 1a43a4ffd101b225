# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How imported kernels with streams, or with a control of their own, are run: what is planned, tried and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from eddy.core.errors import InvalidRequest
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ArgumentRegister, RegisterKind
from eddy_drivers.regs import kernel_run
from eddy_sim.importing.control import RunChoices, RunControl, needs_run, plan_run, with_registers
from eddy_sim.importing.design import TopPort
from eddy_sim.importing.interfaces import KernelPorts, group_ports
from eddy_sim.importing.kernel import KernelChoices, import_kernel
from eddy_sim.importing.package import ImportedKernel, package_texts
from eddy_sim.importing.registers import KernelRegister, RegisterBundle
from eddy_sim.importing.streams import cause_names, causes, find_stream_run, name_streams
from eddy_sim.importing.trial import KernelTrial, Touched, TrialRun, find_pointers, find_run, measured
from eddy_sim.modcheck import work
from eddy_sim.modcheck.model import Model, ModuleInstance, build_checked
from eddy_sim.modcheck.port import Memory, Port
from eddy_sim.modcheck.runner import check_module
from eddy_sim.tools.products import ROOT

KERNELS = ROOT / "tests" / "kernels"
LITE = ("awvalid", ">awready", "awaddr", "wvalid", ">wready", "wdata:32", ">bvalid", "bready", "arvalid", ">rdata:32")


def ports(*names: str) -> KernelPorts:
    """Ports by their names: `>` before those of the kernel's outputs, `:N` behind where they have N bits."""
    parts = [(name.lstrip(">").partition(":"), name.startswith(">")) for name in names]
    return group_ports([TopPort(name, output, int(width or 1)) for (name, _, width), output in parts])


def stream(name: str, width: int, *more: str, outward: bool = False) -> list[str]:
    one, other = (">", "") if outward else ("", ">")
    return [
        f"{one}{name}_tdata:{width}",
        f"{one}{name}_tvalid",
        f"{other}{name}_tready",
        *(one + f"{name}_{s}" for s in more),
    ]


def lite(prefix: str) -> list[str]:
    return [f"{'>' if name.startswith('>') else ''}{prefix}_{name.lstrip('>')}" for name in LITE]


def planned(found: KernelPorts, bundles: dict[str, RegisterBundle] | None = None, **said: str) -> RunControl:
    streams = name_streams(found.streams, {}, {}, set())
    choices = RunChoices(said.get("start", ""), said.get("done", ""), 1000, {})
    return plan_run(found, bundles or {}, streams, choices)


def test_streams_are_named_and_end_by_what_they_have() -> None:
    names = [*stream("out_r", 24, "tlast", outward=True), *stream("IN_R", 8), *stream("raw", 10, outward=True)]
    found = name_streams(ports(*names).streams, {}, {"in": 4}, {"raw"})
    assert [(s.name, s.number, s.outward, s.beat_bytes, s.ends, s.packet_beats) for s in found] == [
        ("in", 0, False, 1, "length", 4),
        ("out", 1, True, 3, "tlast", 0),
        ("raw_stream", 2, True, 2, "length", 0),
    ]
    assert [name for name, *_ in found[1].registers()] == ["out", "out_bytes", "out_length"]
    assert [offset for _, offset, *_ in found[1].registers()] == [0x40, 0x48, 0x4C]


@pytest.mark.parametrize(
    ("ends", "packets", "why"),
    [
        ({"raw": "tlast"}, {}, "raw cannot end by tlast"),
        ({"in": "length"}, {}, "no stream in comes from the kernel"),
        ({}, {"raw": 8}, "no stream raw goes to the kernel"),
        ({}, {"in": 6}, "a packet of in cannot have 6 bytes"),
    ],
)
def test_what_is_said_of_streams_must_fit_them(ends: dict[str, str], packets: dict[str, int], why: str) -> None:
    found = ports(*stream("in", 32), *stream("raw", 8, outward=True)).streams
    with pytest.raises(InvalidRequest, match=why):
        name_streams(found, ends, packets, set())


def test_a_status_is_said_by_name() -> None:
    found = name_streams(ports(*stream("in", 32), *stream("out", 8, outward=True)).streams, {}, {}, set())
    assert list(causes(0b110_0000 | 0b11 << 8, found)) == ["untaken (in, out)", "unended (in, out)"]
    assert list(causes(1, found)) == ["read_error"]
    assert cause_names(found)[5:] == ["untaken", "unended", "undone", "in", "out"]


def test_each_kind_of_control_is_planned() -> None:
    """AP_CTRL behind ours, ports, bits of registers, a port that is held, and none."""
    flow, control = stream("in", 32), [*lite("s_axi_c"), "clk", "rst_n", "gain:8"]
    own = RegisterBundle([KernelRegister("n", 0x10, 32)], start=True, chain=True)
    by_own = planned(ports(*flow, *control), {"s_axi_c": own})
    assert (by_own.kind, by_own.pokes, by_own.chain, by_own.reset_at_start) == ("registers", True, True, False)
    assert list(by_own.scalar_registers()) == [("gain", 0x300, 8, False, 0, "")]
    by_ports = planned(ports(*flow, "ap_start", ">ap_done", ">ap_ready", "ap_continue"))
    assert (by_ports.kind, by_ports.ready, by_ports.goes_on) == ("ports", "ap_ready", "ap_continue")
    assert by_ports.reset_at_start
    assert planned(ports(*flow)).kind == "none"
    held = planned(ports(*flow, "go"), start="go:hold")
    assert (held.kind, held.says_done, held.scalars) == ("none", False, ())
    bits = planned(ports(*control), {"s_axi_c": RegisterBundle()}, start="0x10.4", done="0x14.1:clear")
    assert bits.start
    assert bits.done
    assert (bits.start.offset, bits.start.bit, bits.done.word) == (0x10, 4, "clear")
    named = planned(ports(*control), {"s_axi_c": own}, start="n.3", done="n.4:low")
    assert named.start
    assert (named.start.offset, named.start.bit) == (0x10, 3)


def test_ports_without_an_interface_are_arguments_and_results() -> None:
    """With an AP_CTRL of the kernel's own, too; what says when an output is valid is no result itself."""
    control = [*lite("s_axi_c"), ">interrupt", "clk", "rst_n", "x:32", ">y:40", ">y_ap_vld", ">level:3"]
    own = {"s_axi_c": RegisterBundle(start=True)}
    assert needs_run(ports(*control), own, "")
    run = planned(ports(*control), own)
    assert list(run.scalar_registers()) == [
        ("x", 0x300, 32, False, 0, ""), ("y", 0x304, 40, True, 0, ""), ("level", 0x30C, 3, True, 0, "")
    ]  # fmt: skip
    assert [(port.name, valid) for port, valid in run.results] == [("y", "y_ap_vld"), ("level", "")]
    # An output that nobody needs is no reason to leave the kernel's own control.
    assert not needs_run(ports(*lite("s_axi_c"), ">interrupt", ">level:3"), own, "")
    taken = planned(ports("ap_start", ">ap_done", "clk", "x:8", "x_ap_vld", ">wide:33000", ">ap_return:16"))
    assert [port.name for port, _ in taken.results] == ["ap_return"], "what there are no registers for stays open"


def test_fifos_are_streams() -> None:
    names = ["in_dout:33", "in_empty_n", ">in_read", ">out_din:8", "out_full_n", ">out_write", ">led_write"]
    found = ports(*names)
    assert [(s.prefix, s.manager, sorted(s.ports)) for s in found.streams] == [
        ("in", False, ["tdata", "tready", "tvalid"]),
        ("out", True, ["tdata", "tready", "tvalid"]),
    ]
    assert [port.name for port in found.outputs] == ["led_write"]


def test_a_channel_may_be_named_twice() -> None:
    found = ports(
        ">io_bus_ar_arvalid", ">io_bus_ar_araddr:32", "io_bus_ar_arready", "io_bus_r_rdata:32", "io_bus_r_rvalid"
    )
    assert [(each.prefix, sorted(each.ports)) for each in found.memories] == [
        ("io_bus", ["araddr", "arready", "arvalid", "rdata", "rvalid"])
    ]


def test_its_own_control_is_kept_where_it_will_do() -> None:
    bundles = {"s_axi_c": RegisterBundle(start=True)}
    assert not needs_run(ports(*lite("s_axi_c"), ">interrupt"), bundles, "")
    assert needs_run(ports(*lite("s_axi_c")), bundles, "")
    assert needs_run(ports(*lite("s_axi_c"), ">interrupt", *stream("in", 8)), bundles, "")
    assert needs_run(ports("ap_start", ">ap_done"), {}, "")


@pytest.mark.parametrize(
    ("start", "done", "why"),
    [
        ("go", "", "go together"),
        ("go", "0x10.1", "both ports, or both bits"),
        ("gone", "ready", "no input of one bit"),
        ("go:loud", "ready", ":pulse or :level or :hold behind"),
        ("0x10.32", "0x10.1", "the bit is 0 to 31"),
        ("size.1", "0x10.1", "no register size"),
        ("go:hold", "ready", "without --done"),
    ],
)
def test_a_control_that_is_not_there_is_refused(start: str, done: str, why: str) -> None:
    found = ports(*stream("in", 8), *lite("s_axi_c"), "go", ">ready")
    with pytest.raises(InvalidRequest, match=why):
        planned(found, {"s_axi_c": RegisterBundle()}, start=start, done=done)


@pytest.mark.parametrize(
    ("ties", "why"),
    [
        ({"in_tdata": "1"}, "no such port to tie"),
        ({"in_tuser": "last"}, "a number, or first"),
        ({"out_tkeep": "3"}, "it is tied to all"),
        ({"gain": "all"}, "it is tied to a number"),
    ],
)
def test_what_cannot_be_tied_is_refused(ties: dict[str, str], why: str) -> None:
    found = ports(*stream("in", 8, "tuser"), *stream("out", 8, "tkeep", "tlast", outward=True), "gain:4")
    with pytest.raises(InvalidRequest, match=why):
        plan_run(found, {}, name_streams(found.streams, {}, {}, set()), RunChoices("", "", 1000, ties))


def test_registers_that_no_comment_tells_of_may_be_said() -> None:
    controls = ports(*lite("s_axi_c")).controls
    (bundle,) = with_registers({}, controls, {"n": "0x10", "sum": "0x18:64:out"}).values()
    assert [(r.name, r.offset, r.width, r.output) for r in bundle.registers] == [
        ("n", 0x10, 32, False),
        ("sum", 0x18, 64, True),
    ]
    for text in ("0x11", "ten", "0x10:"):
        with pytest.raises(InvalidRequest, match="write it as"):
            with_registers({}, controls, {"n": text})
    with pytest.raises(InvalidRequest, match="no AXI4-Lite"):
        with_registers({}, (), {"n": "0x10"})


def written(kernel: ImportedKernel, folder: Path) -> Path:
    """The kernel's files in a folder; its manifest."""
    for path, content in package_texts(kernel, folder).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / "bitstreams" / kernel.name / "manifest.yaml"


GCD = {
    "registers": {"a": "0x10", "b": "0x14", "result": "0x18:out"},
    "values": {"a": 1071, "b": 462},
    "start": "0x0.4",
}


def trial_run(cycles: int, *words: int, result: int = 0, seed: int = 1, reads: int = 0) -> TrialRun:
    """A run that left these words, and one that nobody wrote, in `t`, and a result."""
    left, rest = (b"".join(word.to_bytes(4, "little") for word in each) for each in (words, (0x1111 * seed,)))
    run = TrialRun({}, ended=True, cycles=cycles, touched={"t": Touched(reads, 4 * len(words) + 4)})
    run.left, run.found, run.results = {"t": left + rest}, {"t": b"\xff" * len(left) + rest}, {"r": result}
    return run


@pytest.mark.parametrize(
    ("usual", "paused", "other", "timed"),
    [
        (
            trial_run(100, 40, 7, result=90),
            trial_run(200, 80, 7, result=190),
            trial_run(100, 40, 7, result=90, seed=2),
            "rt",
        ),
        (
            trial_run(100, 40, 7, result=90),
            trial_run(200, 80, 7, result=190),
            trial_run(110, 49, 7, result=99, seed=2),
            "rt",
        ),
        # It is faster with slower memory, and later by more than the run takes longer.
        (trial_run(100, 40), trial_run(200, 39), trial_run(100, 40, seed=2), ""),
        (trial_run(100, 40, result=1), trial_run(200, 141, result=102), trial_run(100, 40, result=1, seed=2), ""),
        # What the kernel reads is no time, nor what follows from data, in a word that grows or in one that does not.
        (trial_run(100, 40, reads=8), trial_run(200, 80), trial_run(100, 40, seed=2), ""),
        (trial_run(100, 40, result=1), trial_run(200, 80, result=2), trial_run(100, 41, result=2, seed=2), ""),
        (trial_run(100, 40, 7), trial_run(200, 80, 7), trial_run(100, 40, 8, seed=2), ""),
        (trial_run(100, 40), trial_run(200, 80), trial_run(100, 40, 7, seed=2), ""),
        (trial_run(100, 40), trial_run(200, 80), replace(trial_run(100, 40, seed=2), ended=False), ""),
    ],
    ids=["alike", "shorter with other data", "less", "more", "read", "data", "beside", "longer", "endless"],
)
def test_what_measures_time_grows_when_memory_pauses_and_follows_from_nothing_given(
    usual: TrialRun, paused: TrialRun, other: TrialRun, timed: str
) -> None:
    assert measured(usual, paused, other) == set(timed)


class Tried:
    """A kernel whose runs follow from what its scalars are: how long each takes, and what it asks for by then."""

    longest = 1_000_000

    def __init__(self, cycles: Callable[[int], int], out_from: int) -> None:
        self.inputs = [
            ArgumentRegister(name, 16 + 16 * i, 64, RegisterKind.SCALAR) for i, name in enumerate(("x", "out", "n"))
        ]
        self.cycles, self.out_from = cycles, out_from

    def run(self, pointers: Sequence[str], scalars: Mapping[str, int], seed: int = 1, most: int = 15,
            cycles: int = 60_000, pause: float = 0.0) -> TrialRun:  # fmt: skip
        n = scalars.get("n", 0) if "n" not in pointers else 0
        took = self.cycles(n)
        run = TrialRun({**scalars, **dict.fromkeys(pointers, 1 << 28)}, took <= cycles, min(took, cycles))
        at = {"x": n > 2, "out": n > 2 and run.cycles >= self.out_from}
        run.touched = {name: Touched(8, 8) for name in at if at[name] and name in pointers}
        if at["out"] and "out" not in pointers:
            run.astray = scalars["out"]
        return run


@pytest.mark.parametrize("out_from", [70_000, 2_000])
def test_a_run_that_does_nothing_is_no_run(out_from: int) -> None:
    """A kernel that ends at once where its sizes are two, and that writes after long where they are larger."""
    tried = cast(KernelTrial, Tried(lambda n: 10 if n <= 2 else 30_000 * n, out_from))
    found = find_pointers(tried, ("x", "out"), {})
    assert found == (("x",) if out_from > 60_000 else ("x", "out"))
    run = find_run(tried, ("x", "out"), {})
    assert (run.ended, run.values["n"], set(run.touched)) == (True, 16, {"x", "out"})


def test_an_address_is_found_behind_a_flag() -> None:
    """A kernel that does something only where an argument, which could be an address by its width, is one."""

    class Flagged(Tried):
        def run(self, pointers: Sequence[str], scalars: Mapping[str, int], *_: object, **__: object) -> TrialRun:
            run = TrialRun({**scalars, **dict.fromkeys(pointers, 1 << 28)}, True, 10)
            run.touched = {"x": Touched(8, 8)} if "x" in pointers and run.values["n"] == 1 else {}
            return run

    tried = cast(KernelTrial, Flagged(lambda n: 10, 0))
    assert find_pointers(tried, ("x", "n"), {}) == ("x",)
    assert find_run(tried, ("x",), {}).values["n"] == 1


def test_a_kernel_of_so_many_beats_is_given_no_more() -> None:
    """One that takes 1,000 beats and three in vain, and ends its own stream with TLAST where that comes in time."""
    names = ports(*stream("in", 32, "tlast"), *stream("out", 32, "tlast", outward=True))
    streams = name_streams(names.streams, {}, {}, set())
    stuck, unended = kernel_run.STATUS_UNTAKEN.low, kernel_run.STATUS_UNENDED.low

    class Copying(Tried):
        def run(self, pointers: Sequence[str], scalars: Mapping[str, int], *_: object, **__: object) -> TrialRun:
            run = TrialRun({**scalars, **dict.fromkeys(pointers, 1 << 28)}, True, 1000)
            given = scalars["in_bytes"] // 4
            run.watched = {"in": 4 * min(given, 1003)}
            run.results = {"out_length": 4 * min(given, 1000)}
            run.status = (given > 1003) << stuck | (given != 1000) << unended
            run.status |= 0b10 << kernel_run.STATUS_STREAMS.low if run.status else 0
            run.touched = {name: Touched(4 * given, 0) for name in pointers}
            return run

    tried = Copying(lambda n: 10, 0)
    tried.inputs = [ArgumentRegister(name, 16, 64, RegisterKind.SCALAR) for name in ("in", "in_bytes", "out_bytes")]
    run = find_stream_run(cast(KernelTrial, tried), ("in",), streams, {})
    assert (run.status, run.values["in_bytes"], run.values["out_bytes"]) == (0, 4000, 4000)


@pytest.mark.rtl
def test_bits_of_registers_start_and_end_a_kernel(tmp_path: Path) -> None:
    kernel = import_kernel(KERNELS / "rtl_gcd", KernelChoices(**GCD, done="0x4.1:clear"))  # type: ignore[arg-type]
    failed = [finding for finding in check_module(written(kernel, tmp_path)) if not finding.passed]
    assert not failed, failed


@pytest.mark.rtl
def test_a_bit_that_is_set_before_the_end_fails_the_check(tmp_path: Path) -> None:
    """Bit 0 says that it is busy, here for 4,000 cycles."""
    said = {**GCD, "values": {"a": 4000, "b": 1}}
    kernel = import_kernel(KERNELS / "rtl_gcd", KernelChoices(**said, done="0x4.0"))  # type: ignore[arg-type]
    findings = {finding.check: finding for finding in check_module(written(kernel, tmp_path))}
    assert "results change after ap_done" in findings["control"].reason


@pytest.mark.rtl
def test_ports_start_and_end_a_kernel_whose_length_the_trial_finds(tmp_path: Path) -> None:
    """What stands in registers for an input without an interface, of 40 bits, reaches it."""
    kernel = import_kernel(KERNELS / "stream_ports", KernelChoices(values={"in_bytes": 256}, stall_cycles=500))
    sizes_found = {argument.name: (argument.bytes or argument.value) for argument in kernel.arguments}
    assert sizes_found == {
        "in": 256,
        "in_bytes": 256,
        "out": 256,
        "out_bytes": 256,
        "out_length": 0,
        "bias": 16,
        "tap": 16,
        "lift": 16,
        "last": 0,
        "fall": 0,
    }
    signed = {each.name: (each.width, each.dtype) for each in kernel.arguments if each.name in ("lift", "fall")}
    assert signed == {"lift": (16, "<i2"), "fall": (16, "<i2")}, "of 12 bits"
    arrays = {argument.name: argument.element_bits for argument in kernel.arguments if argument.element_bits}
    assert arrays == {"tap": 32, "last": 32}
    assert "ports tap_0_0 to tap_1_1 are an argument: it is given what stands in a register" in kernel.notes
    path = written(kernel, tmp_path)
    manifest = load_module_manifest(path)
    port = Port(ModuleInstance(Model(build_checked(path)[0])))
    for bias, lift in ((0x12_3456_7800, 5), (0x100, -5)):
        memory = Memory(3)
        memory.load(0x1000, b"".join(value.to_bytes(4, "little") for value in range(1, 65)))
        port.reset(8, memory)
        sizes = {"in_bytes": 256, "out_bytes": 256}
        taps = sum((0x111 * n + bias % 7) << 32 * n for n in range(4))
        given = {"in": 0x1000, "out": 0x2000, "bias": bias, "tap": taps, "lift": lift & 0xFFFF, **sizes}
        assert work.run(port, manifest, given, 5000)
        (fall,) = (each for each in manifest.results() if each.name == "fall")
        assert port.read(fall.offset) == -lift & 0xFFFF_FFFF
        (last,) = (each for each in manifest.results() if each.name == "last")
        left = [port.read(last.offset + 4 * n) for n in range(4)]
        assert left == [n << 12 | 0x111 * n + bias % 7 for n in range(4)]
        sums = [(n * (n + 1) // 2 + (bias >> 8)) & 0xFFFF_FFFF for n in range(1, 65)]
        got = [memory.word(0x2000 + 4 * n) >> 32 * (n % 2) & 0xFFFF_FFFF for n in range(64)]
        assert got == sums
    for name, kept in (("tap", 0x89AB_CDEF), ("lift", 0xCDEF)):
        (register,) = (each for each in manifest.inputs() if each.name == name)
        port.write(register.offset, 0x89AB_CDEF)
        assert port.read(register.offset) == kept, "as many bits as its manifest says"
    found = import_kernel(KERNELS / "stream_ports", KernelChoices(stall_cycles=500))
    assert {argument.name: (argument.bytes or argument.value) for argument in found.arguments} == sizes_found
    with pytest.raises(InvalidRequest, match=r"untaken \(in\)"):
        import_kernel(KERNELS / "stream_ports", KernelChoices(values={"in_bytes": 512}, stall_cycles=500))


SILENT = """// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
module silent (
    input ap_clk, input ap_rst_n, input [31:0] in_r_TDATA, input in_r_TVALID, output in_r_TREADY, input in_r_TLAST,
    output [31:0] out_r_TDATA, output out_r_TVALID, input out_r_TREADY, output [3:0] out_r_TKEEP, output out_r_TLAST
);
    assign out_r_TDATA = in_r_TDATA + 1;
    assign out_r_TVALID = in_r_TVALID;
    assign in_r_TREADY = out_r_TREADY;
    assign out_r_TKEEP = 0;
    assign out_r_TLAST = 0;
endmodule
"""


@pytest.mark.rtl
def test_a_stream_that_says_neither_what_counts_nor_its_end_is_taken_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TKEEP and TLAST stay zero, as those of HLS kernels do that do not set them; unless somebody says what ends it."""
    monkeypatch.setattr("eddy_sim.importing.streams.MOST_FED_BYTES", 2048)
    (tmp_path / "silent.v").write_text(SILENT)
    said = KernelChoices(stall_cycles=500, ends={"out": "tlast"}, ties={"out_r_TKEEP": "all"})
    with pytest.raises(InvalidRequest, match="out 2048"):
        import_kernel(tmp_path, said)
    shorter_stalls(monkeypatch)
    kernel = import_kernel(tmp_path, KernelChoices())
    assert [note.partition(" (")[0] for note in kernel.notes[-2:]] == [
        "out_r_TKEEP stayed zero in its trial: every byte of every beat counts",
        "out sent no TLAST in its trial: its length ends it",
    ]
    sizes = {argument.name: (argument.bytes or argument.value) for argument in kernel.arguments}
    assert sizes["in"] == sizes["out"] == sizes["out_bytes"] == 1024
    # Beats of which TKEEP says a part are thrown away where none of them is the last, and not taken whole.
    (tmp_path / "silent.v").write_text(SILENT.replace("TKEEP = 0", "TKEEP = 3"))
    with pytest.raises(InvalidRequest, match=r"ragged .*Bytes that came: out 0"):
        import_kernel(tmp_path, KernelChoices(stall_cycles=500))


def shorter_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stalls of which a kernel here lasts longer than the usual one, and not as long as the other."""
    monkeypatch.setattr("eddy_sim.importing.control.STALL_CYCLES", 500)
    monkeypatch.setattr("eddy_sim.importing.kernel.PATIENT_STALL_CYCLES", 8000)


SLOW = """// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
module slow (
    input ap_clk, input ap_rst_n, input [31:0] in_r_TDATA, input in_r_TVALID, output in_r_TREADY, input in_r_TLAST,
    output [31:0] out_r_TDATA, output out_r_TVALID, input out_r_TREADY, output [3:0] out_r_TKEEP, output out_r_TLAST
);
    reg [1:0] step;
    reg [11:0] count;
    assign in_r_TREADY = step == 0;
    assign out_r_TDATA = count;
    assign out_r_TVALID = (step == 1 && EARLY) || step == 3;
    assign out_r_TKEEP = step == 3 ? 4'b0011 : 4'b1111;
    assign out_r_TLAST = step == 3;
    always @(posedge ap_clk)
        if (!ap_rst_n) begin
            step <= 0;
            count <= 0;
        end else if (step == 2) begin
            count <= count + 1;
            if (count == 2000) step <= 3;
        end else if (step == 0 ? in_r_TVALID && in_r_TLAST : out_r_TREADY) step <= step + 1;
endmodule
"""


@pytest.mark.rtl
@pytest.mark.parametrize(("early", "ends", "came"), [(0, "tlast", 2), (1, "tlast", 6), (1, "length", 8)])
def test_what_is_only_slow_says_itself_what_counts_and_when_it_ends(
    early: int, ends: str, came: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It computes for longer than a stall before its first beat, or between two: then comes what it says, or more."""
    monkeypatch.setattr("eddy_sim.importing.streams.MOST_FED_BYTES", 2048)
    shorter_stalls(monkeypatch)
    text = SLOW.replace("EARLY", str(early))
    if ends == "length":
        text = text.replace("    assign out_r_TLAST = step == 3;\n", "").replace(", output out_r_TLAST", "")
        text = text.replace("4'b0011", "4'b1111")
    (tmp_path / "slow.v").write_text(text)
    kernel = import_kernel(tmp_path, KernelChoices())
    assert kernel.run
    assert (kernel.run.ties, kernel.run.stall_cycles, kernel.notes) == ({}, 8000, [])
    assert [stream.ends for stream in kernel.streams if stream.outward] == [ends]
    assert {each.name: each.value for each in kernel.arguments}["out_bytes"] == -(-came // 4) * 4


@pytest.mark.rtl
def test_the_trial_finds_how_much_a_kernel_takes(tmp_path: Path) -> None:
    """More than it is given at first, and without the beats that its register slice takes in vain."""
    kernel = import_kernel(KERNELS / "stream_frame", KernelChoices(stall_cycles=500))
    given = {argument.name: (argument.bytes or argument.value) for argument in kernel.arguments}
    assert given == {"frame": 1200, "frame_bytes": 1200, "sums": 16, "sums_bytes": 16, "sums_length": 0}
