"""A configured PYNQ overlay as a `Fabric`: the drivers of `eddy_drivers` over what PYNQ maps.

Images are loaded and buffers synced by stock PYNQ calls on the simulated board, and past PYNQ on a real one
(`KernelCalls` says why). Where the profile says so, images go through the shell's engine instead (`EnginePort`).

Only this module touches `pynq` and the drivers. It finds the blocks of the static region by their types in the
overlay's metadata and orders them by address, which is the order of the slots in the shell's address map.
"""

from __future__ import annotations

import asyncio
import functools
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pynq
from eddy_drivers import gpu_cluster
from eddy_drivers.clocking_wizard import ClockingWizard
from eddy_drivers.hls_accelerator import KIND as HLS_KIND
from eddy_drivers.hls_accelerator import MAP_MAJOR as HLS_MAP_MAJOR
from eddy_drivers.hls_accelerator import HlsAccelerator
from eddy_drivers.icap_engine import IcapEngine
from eddy_drivers.identity import read_identity
from eddy_drivers.memory_counters import MemoryCounters
from eddy_drivers.regs import shell as regs_shell
from eddy_drivers.regs import window
from eddy_drivers.regs.axi_intc import Input
from eddy_drivers.shell import Shell
from eddy_drivers.slot_ctrl import ALL_CONTEXTS, PageWindow, SlotCtrl

from eddy.board.clock import run_due
from eddy.board.dram_map import hash_masks, units
from eddy.board.engine_port import Await, EnginePort
from eddy.board.fabric import Fault, Identity, KernelEnd, KernelStart, SlotFabric, Window
from eddy.board.fabric_record import FabricRecord
from eddy.board.fpga_manager import FpgaManager
from eddy.board.measured import WORD_BYTES
from eddy.board.pages import PAGE
from eddy.board.port import Cause, CoreReport, MonitorCounters
from eddy.board.profile import Profile
from eddy.core.counters import CoreCounters, MemoryUse
from eddy.core.errors import BoardFault, BoardNotReady, Conflict
from eddy.gpu.shape import ClusterShape

PORT_BYTES = 16
"""What the shell's memory port can move in a shell-clock cycle: 8 bytes read and 8 written (hw/ip/eddy_pkg). The
regulator counts both alike."""

PCAP_CTRL = 0xFFCA3008
"""Register of the processing system (CSU, UG1087) that says which port has the device's configuration logic."""
_PCAP_PR = 1
"""Its bit: the processor's port, not the fabric's."""
_POLL_S = 1e-4

_REGISTER_CAUSES = frozenset({Cause.CONTROL_TIMEOUT, Cause.CONTROL_REFUSED})
"""Faults of a register access: what the bank has as their address is an offset."""


class DeviceCalls(Protocol):
    """What differs between devices below the overlay: how a slot is loaded, and how ranges leave the CPU's cache."""

    def load_partial(self, overlay: Any, region: str, file: Path) -> None:
        """Load a slot; back when the port is done with it.

        Raises:
            OSError, ConfigurationFailed: Refused.
        """

    def engine_turn(self, overlay: Any) -> AbstractContextManager[Await]:
        """Give the device's configuration logic to the shell's engine; what it yields waits for the engine."""

    def flush(self, buffer: Any, start: int, end: int) -> None:
        """Write the CPU's lines of a range of a buffer back to memory."""

    def invalidate(self, buffer: Any, start: int, end: int) -> None:
        """Drop the CPU's lines of a range of a buffer."""


class StockCalls:
    """By PYNQ's own calls, on a device that heeds their ranges."""

    def load_partial(self, overlay: Any, region: str, file: Path) -> None:
        """Load a slot."""
        overlay.pr_download(region, str(file))

    @contextmanager
    def engine_turn(self, overlay: Any) -> Iterator[Await]:
        """The simulated engine has its port, and whoever waits for it lets time pass until it has ended."""

        def wait(ended: Callable[[], bool], bound_s: float) -> None:
            del ended, bound_s
            overlay.device.await_load()

        yield wait

    def flush(self, buffer: Any, start: int, end: int) -> None:
        """Write a range back."""
        buffer[start:end].flush()

    def invalidate(self, buffer: Any, start: int, end: int) -> None:
        """Drop a range."""
        buffer[start:end].invalidate()


class KernelCalls:
    """Past PYNQ's device for Zynq UltraScale+, which syncs whole buffers and runs `xclbinutil` for every partial load.

    Args:
        manager: The configuration port.
        record: Told of each load before it begins and when it has ended.
    """

    def __init__(self, manager: FpgaManager, record: FabricRecord) -> None:
        self._manager, self._record = manager, record

    def load_partial(self, overlay: Any, region: str, file: Path) -> None:
        """Load a slot; the file says where it goes."""
        del overlay, region
        with self._recorded():
            self._manager.load_partial(file)

    @contextmanager
    def engine_turn(self, overlay: Any) -> Iterator[Await]:
        """The processor's port lets go of the device for the engine's load, and has it again afterwards (UG1087)."""
        control = pynq.MMIO(PCAP_CTRL, 4, device=overlay.device)
        with self._recorded():
            before = int(control.read(0))
            control.write(0, before & ~_PCAP_PR)
            try:
                yield _poll
            finally:
                control.write(0, before | _PCAP_PR)

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        self._record.partial("begun")
        try:
            yield
        except BaseException:
            self._record.partial("failed")
            raise
        self._record.partial("done")

    def flush(self, buffer: Any, start: int, end: int) -> None:
        """Write a range back."""
        import pyxrt

        buffer.bo.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, end - start, start)

    def invalidate(self, buffer: Any, start: int, end: int) -> None:
        """Drop a range."""
        import pyxrt

        buffer.bo.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE, end - start, start)


def _poll(ended: Callable[[], bool], bound_s: float) -> None:
    until_s = time.monotonic() + bound_s
    while not ended() and time.monotonic() < until_s:
        time.sleep(_POLL_S)


class OverlayFabric:
    """The fabric behind a downloaded overlay.

    Args:
        overlay: The overlay, configured.
        profile: The board's profile: how large the arena is, and how memory falls into rows.
        loop: The loop interrupts are awaited on; the thread's current one while this is made.
        calls: How the device below it is asked.

    Raises:
        BoardFault: The overlay has not the blocks a shell has.
        BoardNotReady: The interrupt has no UIO file, or the arena lies where the slots' ports do not reach.
    """

    def __init__(
        self,
        overlay: Any,
        profile: Profile,
        loop: asyncio.AbstractEventLoop,
        calls: DeviceCalls | None = None,
    ) -> None:
        self._overlay, self._calls = overlay, calls or StockCalls()
        self.loop = loop
        self.bell = asyncio.Event()
        self.shell: Shell = _only(overlay, Shell)
        banks, wizards = _all(overlay, SlotCtrl), _all(overlay, ClockingWizard)
        if not len(banks) == len(wizards) == self.shell.slots:
            raise BoardFault(
                f"the shell has {self.shell.slots} slots, the overlay's metadata {len(banks)} control banks and"
                f" {len(wizards)} clocking wizards; the .hwh does not belong to the .bit",
                cause="metadata",
            )
        pins = {details["index"]: name for name, details in overlay.interrupt_pins.items() if details["controller"]}
        modules = [_at(overlay, self.shell.module_address(index)) for index in range(len(banks))]
        # Where the controller shows nothing, rows are those the shell's monitors derive from addresses.
        controller = next(iter(_all(overlay, MemoryCounters)), None)
        self.slots = tuple(
            SlotFabric(
                control=_Control(bank, profile, index, controller),
                clock=_Clock(wizard, profile),
                module=_Module(*module),
                done=self._line(pins, Input.MODULE + index),
                fault=self._line(pins, Input.FAULT + index),
            )
            for index, (bank, wizard, module) in enumerate(zip(banks, wizards, modules, strict=True))
        )
        # One allocation for as long as the process lives: memory that a slot may still write to never goes back.
        self.memory = _Memory(_reserve(overlay.device, profile), self.shell, self._calls)
        self._engine = self._engine_port(profile) if profile.configuration.by_engine else None

    def _engine_port(self, profile: Profile) -> EnginePort:
        engine: IcapEngine = _only(self._overlay, IcapEngine)
        # What a boardd before this one began ends here; its slot is closed, like all.
        engine.abort()
        # No more than the port takes, however much memory would give: the rest is the slots'.
        engine.set_rate(profile.configuration.words_per_cycle * WORD_BYTES)
        buffer = _contiguous(self._overlay.device, max(slot.image_bytes for slot in profile.slots))
        memory = _Memory(buffer, self.shell, self._calls)
        turn = functools.partial(self._calls.engine_turn, self._overlay)
        return EnginePort(engine, buffer, memory.flush, turn, profile.configuration.bytes_per_s)

    def download(self, region: str, file: Path) -> None:
        """Push a partial bitstream through the configuration port.

        Raises:
            OSError, ConfigurationFailed: The port refused it.
        """
        if self._engine is None:
            self._calls.load_partial(self._overlay, region, file)
        else:
            self._engine.load(region, file)

    def close(self) -> None:
        """Await no interrupt any more and give the loop back."""
        for slot in self.slots:
            slot.done.forget()
            slot.fault.forget()
        if not self.loop.is_closed():
            run_due(self.loop)
            self.loop.close()

    def _line(self, pins: dict[int, str], index: int) -> _Line:
        if index not in pins:
            raise BoardFault(f"the overlay has nothing at input {index} of its interrupt controller", cause="metadata")
        try:
            return _Line(pynq.Interrupt(pins[index]), self.loop, self.bell)
        except (ValueError, OSError) as error:
            raise BoardNotReady(
                f"the fabric's interrupt has no UIO file ({error}); the device tree needs a generic-uio node for GIC"
                " SPI 89, and the kernel's command line uio_pdrv_genirq.of_id=generic-uio",
                cause="interrupt",
            ) from error


def _reserve(device: Any, profile: Profile) -> Any:
    """The arena, where the slots' ports reach it.

    Raises:
        BoardNotReady: The kernel has no room of that size, or gave memory that the profile does not know.
    """
    buffer = _contiguous(device, profile.arena.bytes)
    first, last = int(buffer.device_address), int(buffer.device_address) + profile.arena.bytes
    dram = profile.dram
    if first % PAGE or not dram.base <= first <= last <= dram.base + dram.bytes:
        raise BoardNotReady(
            f"the arena came to lie at {first:#x} to {last:#x}, the profile's memory is {dram.base:#x} to"
            f" {dram.base + dram.bytes:#x}; use the profile of this board, or reserve memory inside of it (cma=)",
            cause="memory-address",
        )
    return buffer


def _contiguous(device: Any, size: int) -> Any:
    try:
        return pynq.allocate((size,), dtype="u1", target=device)
    except RuntimeError as error:
        raise BoardNotReady(
            f"the kernel has no {size} bytes of contiguous memory ({error}); raise cma= on its command"
            " line, or lower the arena of the profile",
            cause="memory",
        ) from error


def memory_bytes_per_cycle(profile: Profile) -> float:
    """What the memory port moves in a shell-clock cycle, both ways together: its width, or what the DRAM gives."""
    return min(PORT_BYTES, profile.dram.bytes_per_s / profile.shell_hz)


def _driver(overlay: Any, name: str) -> Any:
    target = overlay
    for part in name.split("/"):
        target = getattr(target, part)
    return target


def _all(overlay: Any, kind: type) -> list[Any]:
    """Every block of a type, by address."""
    types = {re.sub(r":[^:]*$", "", vlnv) for vlnv in kind.bindto}  # type: ignore[attr-defined]
    names = [
        (int(details["phys_addr"]), name)
        for name, details in overlay.ip_dict.items()
        if re.sub(r":[^:]*$", "", str(details.get("type"))) in types
    ]
    return [_driver(overlay, name) for _, name in sorted(names)]


def _only(overlay: Any, kind: type) -> Any:
    found = _all(overlay, kind)
    if len(found) != 1:
        raise BoardFault(
            f"the overlay has {len(found)} blocks of type {kind.bindto[0]}, expected one;"  # type: ignore[attr-defined]
            " load an overlay that `eddy bitstreams` lists",
            cause="metadata",
        )
    return found[0]


def _at(overlay: Any, address: int) -> tuple[HlsAccelerator, dict[str, Any]]:
    """The register window at an address, whatever its metadata calls what is in it, and what drivers of it are told."""
    for name, details in overlay.ip_dict.items():
        if details.get("phys_addr") == address:
            description = {**details, "fullpath": name, "device": overlay.device, "interrupts": {}, "gpio": {}}
            return HlsAccelerator(description), description
    raise BoardFault(f"the overlay's metadata has no register window at {address:#x}", cause="metadata")


class _Control:
    """A slot's control bank as the board sees it."""

    def __init__(
        self, bank: SlotCtrl, profile: Profile, index: int = 0, controller: MemoryCounters | None = None
    ) -> None:
        self._bank, self._index, self._controller = bank, index, controller
        self.stop_memory = bank.quiesce
        self.resume_memory = bank.resume
        self.revoke = bank.revoke
        self.admit = bank.admit
        self.memory_drained = bank.memory_drained
        self.drained = bank.idle
        self.decouple = bank.decouple
        self.hold_reset = bank.hold_reset
        self.release_reset = bank.release_reset
        self.open_control = bank.open_control
        self.open_memory = functools.partial(bank.open_memory, revoked=True)
        self.clock_running = bank.clock_alive
        self.clear_fault = bank.clear_causes
        self.clear_counters = bank.clear_counters
        self.window_count = bank.window_count
        self.shares_cache = profile.cache_bytes > 0
        if len(profile.slots) > 1:
            bank.set_regulator(profile.memory_share * memory_bytes_per_cycle(profile))
        dram = profile.dram
        bank.set_geometry(
            bank_shift=(dram.row_bytes - 1).bit_length(),
            bank_bits=(units(dram) - 1).bit_length(),
            row_shift=(dram.row_bytes * units(dram) - 1).bit_length(),
            hash_masks=hash_masks(dram),
        )

    def fault(self) -> Fault:
        first = self._bank.first_fault()
        if first is None:
            return Fault(Cause.NONE)
        cause = Cause(first.cause.name.lower().replace("_", "-"))
        if cause is Cause.CLOCK_LOST:
            return Fault(cause, f"{cause.value}: the slot's clock stopped with an access or a burst outstanding")
        if cause in _REGISTER_CAUSES:
            return Fault(cause, f"{cause.value} at register offset {first.address:#x}")
        where = f"{cause.value} at address {first.address:#x}, context {first.context}"
        return Fault(cause, where, first.context, first.address)

    def set_windows(self, windows: tuple[Window, ...]) -> None:
        self._bank.set_windows([PageWindow(w.first_page, w.last_page, w.read, w.write, w.contexts) for w in windows])

    def snapshot(self, context: int | None) -> MonitorCounters:
        return MonitorCounters(**self._bank.counters(ALL_CONTEXTS if context is None else context))

    def memory_use(self, contexts: Sequence[int]) -> Mapping[int, MemoryUse]:
        if self._controller is None:
            # The first takes every context's counters, the others show more of the same cycle.
            counted = {each: self._bank.counters(each, keep=number > 0) for number, each in enumerate(contexts)}
            return {context: _use(MonitorCounters(**found)) for context, found in counted.items()}
        self._controller.take()
        kept = self._controller.kept(self._index, contexts)
        return {context: _served(counted) for context, counted in kept.items()}


def _use(counted: MonitorCounters) -> MemoryUse:
    return MemoryUse(
        reads=counted.read_requests,
        requests=counted.read_requests + counted.write_requests,
        bytes=counted.read_bytes + counted.write_bytes,
        row_hits=counted.row_hits,
    )


def _served(counted: Mapping[str, int]) -> MemoryUse:
    return MemoryUse(
        reads=counted["read_requests"],
        requests=counted["read_requests"] + counted["write_requests"],
        bytes=counted["read_bytes"] + counted["write_bytes"],
        row_hits=counted["row_hits"],
    )


class _Clock:
    """A clocking wizard as the board sees it."""

    def __init__(self, wizard: ClockingWizard, profile: Profile) -> None:
        self._wizard = wizard
        # The shell's own clock feeds the wizards, whatever the metadata forgot to say.
        wizard.reference_hz = wizard.reference_hz or profile.shell_hz
        self.locked, self.rate_hz = wizard.locked, wizard.rate_hz

    def set_rate(self, hz: float) -> None:
        self._wizard.set_rate(hz)


class _Module:
    """A module's register window behind a fence in software.

    Which driver speaks to it follows from the identity read last; both stand on the same window.
    """

    def __init__(self, driver: HlsAccelerator, description: dict[str, Any]) -> None:
        self._driver, self._description = driver, description
        self.cluster: ClusterControl | None = None
        self.fenced = True

    def fence(self) -> None:
        self.fenced = True

    def unfence(self) -> None:
        self.fenced = False

    def identity(self) -> Identity:
        found = read_identity(self._driver.get)
        is_cluster = (found.kind, found.major) == (gpu_cluster.KIND, gpu_cluster.MAP_MAJOR)
        # A new driver every time: what the last one knew of its kernels ended with the module it spoke to.
        self.cluster = ClusterControl(gpu_cluster.GpuCluster(self._description), self._check) if is_cluster else None
        return Identity(found.magic, found.kind, found.major, found.minor, found.build)

    def understands(self, identity: Identity) -> bool:
        known = ((HLS_KIND, HLS_MAP_MAJOR), (gpu_cluster.KIND, gpu_cluster.MAP_MAJOR))
        return (identity.kind, identity.map_major) in known

    def quiesce(self) -> None:
        if self.cluster is not None:
            self.cluster.quiesce()
        else:
            self._driver.quiesce()

    def read(self, offset: int) -> int:
        self._check()
        return self._driver.get(offset)

    def write(self, offset: int, value: int) -> None:
        self._check()
        self._driver.put(offset, value)

    def start(self) -> None:
        self._check()
        self._driver.start()

    def finished(self) -> bool:
        self._check()
        return self._driver.take_done()

    def _check(self) -> None:
        if self.fenced:
            raise Conflict(
                f"the register window at {self._driver.mmio.base_addr:#x} is fenced: its slot is closed", field="slot"
            )


class ClusterControl:
    """A GPU cluster as the board sees it.

    Args:
        driver: Its driver.
        check: Raises where register accesses are fenced.
    """

    def __init__(self, driver: gpu_cluster.GpuCluster, check: Callable[[], None]) -> None:
        self._driver, self._check = driver, check
        self.quiesce = driver.quiesce

    @property
    def shape(self) -> ClusterShape:
        """What it is made of."""
        self._check()
        made = self._driver.configuration
        return ClusterShape(made.cores, made.warps, made.threads, made.fpu, made.local_bytes)

    def start(self, kernel: KernelStart) -> int:
        """Start a kernel; its ticket."""
        self._check()
        asked = gpu_cluster.Kernel(
            kernel.entry,
            kernel.argument,
            kernel.address,
            kernel.bytes,
            kernel.cores,
            kernel.context,
            kernel.family,
        )
        return self._driver.launch(asked)

    def poll(self) -> tuple[KernelEnd, ...]:
        """Take the interrupt away; what has ended."""
        self._check()
        return tuple(KernelEnd(end.ticket, tuple(map(_report, end.cores))) for end in self._driver.poll())

    def halt(self, ticket: int) -> None:
        """Ask a kernel's cores to stop."""
        self._check()
        self._driver.halt(ticket)

    @property
    def shares_cache(self) -> bool:
        """Whether its cores share a second-level cache."""
        self._check()
        return self._driver.configuration.l2_bytes > 0

    def counters(self, cores: Sequence[int]) -> Mapping[int, CoreCounters]:
        """What cores have counted since their kernels began."""
        self._check()
        return {core: CoreCounters.of(self._driver.counters(core)) for core in cores}


def _report(end: gpu_cluster.CoreEnd) -> CoreReport:
    fault = end.fault
    return CoreReport(
        core=end.core,
        counters=CoreCounters.of(end.counters),
        fault=fault.cause.name.lower() if fault else "",
        fault_pc=fault.pc if fault else 0,
        fault_value=fault.value if fault else 0,
    )


class _Line:
    """A PYNQ interrupt that rings the board's bell."""

    def __init__(self, interrupt: Any, loop: asyncio.AbstractEventLoop, bell: asyncio.Event) -> None:
        self._interrupt, self._loop, self._bell = interrupt, loop, bell
        self._task: asyncio.Task[None] | None = None

    def arm(self) -> None:
        if self._task is None:
            self._task = self._loop.create_task(self._interrupt.wait())
            self._task.add_done_callback(self._fired)

    def _fired(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._bell.set()

    def take(self) -> bool:
        if self._task is None or not self._task.done():
            return False
        self._task.result()
        self._task = None
        return True

    def forget(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None


class _Memory:
    """The arena: one PYNQ buffer. What leaves the CPU's cache must leave the one that the slots share, too."""

    def __init__(self, buffer: Any, shell: Shell, calls: DeviceCalls) -> None:
        self._buffer, self._calls = buffer, calls
        self._shell = shell
        self.address = int(buffer.device_address)
        self.bytes: npt.NDArray[np.uint8] = np.asarray(buffer)

    def flush(self, start: int, end: int) -> None:
        if end > start:
            self._calls.flush(self._buffer, start, end)
            self._shell.flush(self.address + start, end - start)

    def invalidate(self, start: int, end: int) -> None:
        if end > start:
            self._calls.invalidate(self._buffer, start, end)


def shell_time_s(profile: Profile, device: Any, configured_s: float) -> Callable[[], float]:
    """Board time by the shell's own cycle counter, which goes on while processes come and go.

    Args:
        profile: At which rate the shell is clocked.
        device: The PYNQ device; its registers are first read when time is first asked for.
        configured_s: When the fabric was configured: cycles count from there.
    """
    bank: list[Any] = []

    def now_s() -> float:
        if not bank:
            bank.append(pynq.MMIO(window.BASE + window.SHELL.offset, window.SHELL.bytes, device=device))
        # Reading the low word latches the high one.
        low = int(bank[0].read(regs_shell.CYCLES_LO.offset))
        return configured_s + (int(bank[0].read(regs_shell.CYCLES_HI.offset)) << 32 | low) / profile.shell_hz

    return now_s
