# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A passive AXI protocol checker for a module's memory port (Ref: ARM IHI 0022, A3.2 to A3.4).

It samples the port before every rising clock edge and keeps every violation it sees, by rule:

* `stable`: once VALID is up, it and its payload hold until READY.
* `burst`: INCR (or a legal FIXED/WRAP), no beat wider than the bus, not across 4 KiB.
* `last`: WLAST with the last beat of a burst, and only there; no write data without its address.
* `window`: bytes outside what was granted.
* `reset`: no VALID while in reset.
* `done`: the completion interrupt rises when every burst is answered, and no request comes while it is up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cocotb.triggers import First, ReadOnly, RisingEdge

PAYLOAD = {
    "aw": ("id", "addr", "len", "size", "burst", "cache", "prot", "qos", "user"),
    "ar": ("id", "addr", "len", "size", "burst", "cache", "prot", "qos", "user"),
    "w": ("data", "strb", "last"),
}
FIXED, INCR, WRAP = 0, 1, 2


@dataclass(frozen=True)
class AllowedRange:
    """Bytes a module may touch: a range, and whether for reading and for writing."""

    first: int
    bytes: int
    read: bool = True
    write: bool = True

    def covers(self, low: int, high: int, write: bool) -> bool:
        """Whether bytes `low` up to `high` (exclusive) may be touched."""
        return (self.write if write else self.read) and self.first <= low and high <= self.first + self.bytes


@dataclass
class PortTraffic:
    """What went by."""

    reads: int = 0
    writes: int = 0
    read_beats: int = 0
    write_beats: int = 0
    longest: int = 0


_VALIDS = ("awvalid", "arvalid", "wvalid", "bvalid", "rvalid")


@dataclass
class ProtocolChecker:
    """Watches `m_axi_*` of a module.

    Attributes:
        dut: The module.
        windows: What it may touch; None: everything.
        violations: (rule, sentence) in the order seen, at most 20.
        traffic: Counts of what went by.
    """

    dut: Any
    windows: list[AllowedRange] | None = None
    violations: list[tuple[str, str]] = field(default_factory=list)
    traffic: PortTraffic = field(default_factory=PortTraffic)
    _before: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _bursts: deque[int] = field(default_factory=deque)
    _left: int = 0
    _owed: int = 0
    _ended: bool = False
    _handles: dict[str, Any] = field(default_factory=dict)

    async def run(self) -> None:
        """Watch for ever; start it with `cocotb.start_soon`."""
        wakes = [getattr(self.dut, name).value_change for name in ("rst_ni", "irq_o", *(f"m_axi_{v}" for v in _VALIDS))]
        while True:
            await ReadOnly()
            self._sample()
            if any(self._get(name) for name in _VALIDS):
                await RisingEdge(self.dut.clk_i)
            else:
                # Nothing can be wrong before one of these changes, and long runs compute for most of their time.
                await First(*wakes)

    def of(self, rules: Iterable[str]) -> list[str]:
        """The violations of some rules, as sentences."""
        wanted = set(rules)
        return [text for rule, text in self.violations if rule in wanted]

    def _note(self, rule: str, text: str) -> None:
        if len(self.violations) < 20:
            self.violations.append((rule, text))

    def _get(self, name: str) -> int:
        # Asked a dozen times a cycle, where the objects that `value` makes take most of a check's time.
        handle = self._handles.get(name)
        if handle is None:
            handle = self._handles[name] = getattr(self.dut, f"m_axi_{name}")._handle
        return int(handle.get_signal_val_binstr(), 2)

    def _sample(self) -> None:
        if not int(self.dut.rst_ni.value):
            self._in_reset()
            return
        self._answers()
        self._end()
        for channel in ("aw", "ar", "w"):
            if self._channel(channel):
                if channel == "w":
                    self._beat()
                else:
                    self._address(channel)

    def _in_reset(self) -> None:
        self._before.clear()
        self._bursts.clear()
        self._left = self._owed = 0
        self._ended = False

    def _answers(self) -> None:
        self._owed -= self._get("bvalid") & self._get("bready")
        self._owed -= self._get("rvalid") & self._get("rready") & self._get("rlast")

    def _end(self) -> None:
        """At the end of an item its memory is taken away: what is still to come then is refused."""
        ended = bool(int(self.dut.irq_o.value))
        if ended and not self._ended and self._owed:
            self._note("done", f"the interrupt says done with {self._owed} bursts not answered yet")
        self._ended = ended

    def _channel(self, channel: str) -> bool:
        """Check stability; answer whether a transfer happens at the coming edge."""
        if not self._get(f"{channel}valid"):
            if channel in self._before:
                self._note("stable", f"{channel}valid fell before {channel}ready")
            self._before.pop(channel, None)
            return False
        payload = tuple(self._get(channel + name) for name in PAYLOAD[channel])
        before = self._before.get(channel)
        if before is not None and before != payload:
            names = [n for n, a, b in zip(PAYLOAD[channel], before, payload, strict=True) if a != b]
            self._note("stable", f"{channel}{'/'.join(names)} changed while waiting for {channel}ready")
        if self._get(f"{channel}ready"):
            self._before.pop(channel, None)
            return True
        self._before[channel] = payload
        return False

    def _address(self, channel: str) -> None:
        address, beats = self._get(channel + "addr"), self._get(channel + "len") + 1
        size, burst = 1 << self._get(channel + "size"), self._get(channel + "burst")
        text = f"{channel} burst at {address:#x}, {beats} beats of {size} bytes, type {burst}"
        low = address // size * size
        high = low + size * (1 if burst == FIXED else beats)
        if burst == WRAP:
            low = address // (size * beats) * size * beats
            high = low + size * beats
        self._legal(text, address, low, high, beats, size, burst)
        if self.windows is not None and not any(w.covers(low, high, channel == "aw") for w in self.windows):
            self._note("window", f"{text}: outside the granted buffers")
        self.traffic.longest = max(self.traffic.longest, beats)
        if self._ended:
            self._note("done", f"{text}: asked for after done")
        self._owed += 1
        if channel == "aw":
            self.traffic.writes += 1
            self._bursts.append(beats)
        else:
            self.traffic.reads += 1
            self.traffic.read_beats += beats

    def _legal(self, text: str, address: int, low: int, high: int, beats: int, size: int, burst: int) -> None:
        if burst > WRAP:
            self._note("burst", f"{text}: reserved burst type")
        if size > len(self.dut.m_axi_wstrb):
            self._note("burst", f"{text}: beats wider than the {8 * len(self.dut.m_axi_wstrb)}-bit bus")
        if burst == INCR and low // 4096 != (high - 1) // 4096:
            self._note("burst", f"{text}: crosses a 4 KiB boundary")
        if burst == FIXED and beats > 16:
            self._note("burst", f"{text}: FIXED bursts have at most 16 beats")
        if burst == WRAP and (beats not in (2, 4, 8, 16) or address % size):
            self._note("burst", f"{text}: WRAP bursts have 2, 4, 8 or 16 beats, aligned")

    def _beat(self) -> None:
        self.traffic.write_beats += 1
        if not self._left:
            if not self._bursts:
                self._note("last", "write data before its address")
                return
            self._left = self._bursts.popleft()
        self._left -= 1
        if bool(self._get("wlast")) != (self._left == 0):
            self._note("last", "wlast is not with the last beat of its burst")
