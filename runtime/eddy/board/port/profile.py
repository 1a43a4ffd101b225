# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Board profiles: what a board is, as data.

A profile is a YAML file in `profiles/`. It says which slots there are and how large their images come out, how fast the
configuration port takes bytes (with the source of the figure), what the DRAM looks like, and where the memory arena
lies. Nothing else in Eddy knows one board from another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from eddy.board.port.measured import WORD_BYTES, apply_measurements
from eddy.board.port.port import BoardDescription
from eddy.core.errors import InvalidRequest, NotFound
from eddy.core.slots import MEMORY_BITS, Pool, SlotDescription


@dataclass(frozen=True, slots=True)
class PortRates:
    """How partial bitstreams get in.

    Attributes:
        kind: ``pcap``: the processor's port; ``icap``: the fabric's own engine (`hw/ip/icap_engine`), which reads the
            image from memory.
        bytes_per_s: Rate at which the port takes an image; of an engine a word in each cycle of the port's clock.
        storage_bytes_per_s: Rate of reading an image that is not in memory yet.
        source: Where the figures come from.
        image_cache_bytes: Memory for images that were read, so that they need no read again.
        words_per_cycle: Words of 32 bits that an engine writes in a cycle of the shell's clock: one in each cycle of
            the port's, as its bench measures it, so how many times as fast that clock is; 0 of other ports.
    """

    kind: str
    bytes_per_s: float
    storage_bytes_per_s: float
    source: str
    image_cache_bytes: int = 64 << 20
    words_per_cycle: float = 0.0

    @property
    def by_engine(self) -> bool:
        """Whether images come in through the shell's engine."""
        return self.kind == "icap"

    @property
    def engine_hz(self) -> float:
        """Rate of the engine's clock of the port, on which it writes a word a cycle; 0 of other ports."""
        return self.bytes_per_s / WORD_BYTES if self.by_engine else 0.0


@dataclass(frozen=True, slots=True)
class Dram:
    """Geometry and timing of the memory behind the shell.

    Attributes:
        base: Physical address.
        bytes: Size.
        banks: Independent banks (bank groups flattened).
        row_bytes: Bytes of one open row (one bank).
        rcd_ns: Activate to column command.
        rp_ns: Precharge.
        cl_ns: Column command to data.
        ras_ns: Activate to precharge, at least.
        bytes_per_s: Data bus limit that the shell's port sees, of all channels together.
        faw_ns: Window in which a channel activates four rows at most; 0: no bound.
        wtr_ns: End of written data to a read's column command.
        rtw_ns: Time the bus takes to turn from reads to writes.
        channels: Channels, each with `banks` banks and its part of the bandwidth.
        hashing: Whether bank and channel are permuted by bits of the row, as [001]'s PAE does, so that no stride meets
            a single bank.
        queue_bursts: Bursts the controller holds, for each direction.
        row_hit_cap: Row hits in a row that may overtake an older burst; 0: any number.
        scheduling: `fr_fcfs`, or `bw_app`: whoever had the least bandwidth of late first, then `fr_fcfs`.
        reorders: Whether reads of one AXI id are served in any order, and answered in theirs.
        hash_masks: As measured, by bit of the unit's number: the address bits from the base whose parity is added to
            it; () where nobody measured, and `hashing` says.
    """

    base: int
    bytes: int
    banks: int
    row_bytes: int
    rcd_ns: float
    rp_ns: float
    cl_ns: float
    ras_ns: float
    bytes_per_s: float
    faw_ns: float = 0.0
    wtr_ns: float = 0.0
    rtw_ns: float = 0.0
    channels: int = 1
    hashing: bool = False
    queue_bursts: int = 32
    row_hit_cap: int = 0
    scheduling: str = "fr_fcfs"
    reorders: bool = False
    hash_masks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ArenaRange:
    """The part of memory that Eddy hands out to jobs."""

    base: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Profile:
    """A board.

    Attributes:
        name: The file's name.
        board: What it is, for people.
        part: Device part, as the `.bit` header names it.
        shell_hz: Clock of the static region.
        slots: Its reconfigurable partitions, by index.
        configuration: The configuration port.
        dram: The memory behind the shell.
        arena: What of it jobs may get.
        memory_share: What one slot may take of the shell's memory port, where there is more than one slot: a fraction
            of what the port moves. The slots' regulators are set to it.
        requires_signature: Whether only signed images may be loaded.
        cache_bytes: Size of the cache that the slots share, in front of memory; 0 where there is none.
        memory_requests: Requests that may be with memory in each direction, of one slot and of all; a power of two.
        memory_beats: Beats that may be with memory in each direction when a further request goes.
        streams: Whether its shell has streams from slot to slot (`hw/ip/stream_link`).
        memory_bits: Bits of the slots' ports to memory, and of the shell's: 64 or 128.
        configurations: What the slots of the `gpu` pool may hold together, by name: modules by slot. Empty where any
            cluster with an image for a slot may be in it.
    """

    name: str
    board: str
    part: str
    shell_hz: float
    slots: tuple[SlotDescription, ...]
    configuration: PortRates
    dram: Dram
    arena: ArenaRange
    memory_share: float
    requires_signature: bool
    cache_bytes: int = 0
    memory_requests: int = 8
    memory_beats: int = 32
    streams: bool = False
    memory_bits: int = 64
    configurations: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def description(self, shell: str, arena_bytes: int, requires_signature: bool) -> BoardDescription:
        """What a board of this profile says of itself.

        Args:
            shell: Identity of the shell on it.
            arena_bytes: Memory that jobs may get.
            requires_signature: Whether only signed images may be loaded.
        """
        return BoardDescription(
            board=self.board,
            profile=self.name,
            shell=shell,
            clk_hz=self.shell_hz,
            slots=self.slots,
            arena_bytes=arena_bytes,
            configuration_bytes_per_s=self.configuration.bytes_per_s,
            requires_signature=requires_signature,
            storage_bytes_per_s=self.configuration.storage_bytes_per_s,
            image_cache_bytes=self.configuration.image_cache_bytes,
            memory_bytes_per_s=self.dram.bytes_per_s,
            streams=self.streams,
        )


def profile_names() -> tuple[str, ...]:
    """Names of the profiles that ship."""
    folder = resources.files("eddy.board") / "profiles"
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def load_profile(name: str, measured: Path | None = None) -> Profile:
    """Read a profile by name.

    Args:
        name: Its name.
        measured: Folder of values measured on this board, which replace planned ones (`eddy.board.port.measured`).

    Raises:
        NotFound: There is none of that name; says which there are.
        InvalidRequest: The file is wrong; names the field.
    """
    if name not in profile_names():
        raise NotFound(
            f"no board profile {name!r}; there are: {', '.join(profile_names())}",
            field="profile",
            allowed=profile_names(),
        )
    return parse_profile(name, apply_measurements(_read(name), name, measured))


def _read(name: str) -> dict[str, Any]:
    """A shipped profile's YAML; one that `extends` another has that one's fields, but for those it states itself."""
    text = (resources.files("eddy.board") / "profiles" / f"{name}.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    if "extends" not in data:
        return data
    base = _read(str(data.pop("extends")))
    port = {**base["configuration"], **data.get("configuration", {})}
    # What the one states follows from the other in a profile of the other kind.
    for stated, derived in (("words_per_cycle", "bytes_per_s"), ("bytes_per_s", "words_per_cycle")):
        if stated in data.get("configuration", {}):
            port.pop(derived, None)
    return {**base, **data, "configuration": port}


def parse_profile(name: str, data: Mapping[str, Any]) -> Profile:
    """Make a profile of parsed YAML.

    Raises:
        InvalidRequest: A field is missing, unknown or of the wrong type; names it.
    """
    try:
        profile = Profile(
            name=name,
            board=str(data["board"]),
            part=str(data["part"]),
            shell_hz=float(data["shell_hz"]),
            slots=tuple(_slot(index, slot) for index, slot in enumerate(data["slots"])),
            configuration=_port(data["configuration"], float(data["shell_hz"])),
            dram=Dram(**{**data["dram"], "hash_masks": tuple(data["dram"].get("hash_masks", ()))}),
            arena=ArenaRange(**data["arena"]),
            memory_share=float(data["memory_share"]),
            requires_signature=bool(data["requires_signature"]),
            cache_bytes=int(data.get("cache_bytes", 0)),
            memory_requests=int(data.get("memory_requests", 8)),
            memory_beats=int(data.get("memory_beats", 32)),
            streams=bool(data.get("streams", False)),
            memory_bits=int(data.get("memory_bits", 64)),
            configurations={
                str(each): {int(slot): str(module) for slot, module in held.items()}
                for each, held in data.get("configurations", {}).items()
            },
        )
    except KeyError as error:
        raise InvalidRequest(f"profile {name}: field {error} is missing", field=str(error.args[0])) from error
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidRequest(f"profile {name}: {error}", field="profile") from error
    _check(profile)
    return profile


def _port(data: Mapping[str, Any], shell_hz: float) -> PortRates:
    """The configuration port: an engine's rate follows from its words a cycle, any other's is stated."""
    engine = data["kind"] == "icap"
    stated, derived = ("words_per_cycle", "bytes_per_s") if engine else ("bytes_per_s", "words_per_cycle")
    if stated not in data or derived in data:
        raise ValueError(f"a configuration port of kind {data['kind']} states {stated}, and no {derived}")
    rate = data["words_per_cycle"] * WORD_BYTES * shell_hz if engine else data["bytes_per_s"]
    return PortRates(**{**data, "bytes_per_s": rate})


def _slot(index: int, data: Mapping[str, Any]) -> SlotDescription:
    return SlotDescription(
        index=index,
        region=f"slot{index}",
        pool=Pool(data["pool"]),
        image_bytes=int(data["image_bytes"]),
        clk_hz=float(data["clk_hz"]),
    )


SCHEDULING = ("fr_fcfs", "bw_app")
MAX_UNITS = 32
"""Banks of all channels together, at most: what the monitor tells apart."""


def _power_of_two(number: int) -> bool:
    return number >= 1 and not number & (number - 1)


def _check_dram(name: str, dram: Dram) -> None:
    """Refuse a memory that neither the simulated controller nor the monitor knows."""

    def refuse(field_: str, allowed: str) -> None:
        found = getattr(dram, field_)
        message = f"profile {name}: dram.{field_} is {found!r}; it must be {allowed}"
        raise InvalidRequest(message, field=f"dram.{field_}", allowed=allowed)

    for each in ("banks", "row_bytes", "channels"):
        if not _power_of_two(getattr(dram, each)):
            refuse(each, "a power of two")
    if dram.banks * dram.channels > MAX_UNITS:
        refuse("banks", f"at most {MAX_UNITS} over all channels")
    for each in ("rcd_ns", "rp_ns", "cl_ns", "ras_ns", "faw_ns", "wtr_ns", "rtw_ns"):
        if not 0 <= getattr(dram, each) < float("inf"):
            refuse(each, "nanoseconds, 0 or more")
    if not 0 < dram.bytes_per_s < float("inf"):
        refuse("bytes_per_s", "more than 0")
    if not 1 <= dram.queue_bursts <= 256:
        refuse("queue_bursts", "1 to 256")
    # A mask says of rows how they are spread over units, so that no two addresses meet.
    unit_bits, rows_from = (dram.banks * dram.channels - 1).bit_length(), dram.row_bytes * dram.banks * dram.channels
    if dram.hash_masks and (len(dram.hash_masks) != unit_bits or any(mask % rows_from for mask in dram.hash_masks)):
        refuse("hash_masks", f"{unit_bits} of them, of address bits from {rows_from:#x} on")
    if (dram.hashing or dram.hash_masks) and dram.base % (1 << (dram.bytes - 1).bit_length()):
        refuse("base", "a multiple of the memory's size where the map is hashed")
    if dram.row_hit_cap < 0:
        refuse("row_hit_cap", "0 (any number) or more")
    if dram.scheduling not in SCHEDULING:
        refuse("scheduling", " or ".join(SCHEDULING))


def _check(profile: Profile) -> None:
    _check_dram(profile.name, profile.dram)
    gpu = {slot.index for slot in profile.slots if slot.pool is Pool.GPU}
    for name, held in profile.configurations.items():
        if set(held) != gpu:
            raise InvalidRequest(
                f"profile {profile.name}: configuration {name} names slots {sorted(held)}, not {sorted(gpu)}",
                field="configurations",
                allowed=sorted(gpu),
            )
    if not 1 <= len(profile.slots) <= 10:
        raise InvalidRequest(
            f"profile {profile.name}: a shell has 1 to 10 slots, not {len(profile.slots)}",
            field="slots",
            allowed="1..10",
        )
    if not 0 < profile.memory_share <= 1:
        raise InvalidRequest(
            f"profile {profile.name}: memory_share is a fraction of what the port moves, not {profile.memory_share}",
            field="memory_share",
            allowed="above 0, up to 1",
        )
    if profile.cache_bytes and (profile.cache_bytes < 512 or profile.cache_bytes & (profile.cache_bytes - 1)):
        raise InvalidRequest(
            f"profile {profile.name}: cache_bytes is a power of two, not {profile.cache_bytes}",
            field="cache_bytes",
            allowed="0, or a power of two of at least 512",
        )
    if not 2 <= profile.memory_requests <= 128 or not _power_of_two(profile.memory_requests):
        raise InvalidRequest(
            f"profile {profile.name}: memory_requests is a power of two, not {profile.memory_requests}",
            field="memory_requests",
            allowed="2 to 128, a power of two",
        )
    if not 16 <= profile.memory_beats <= 1024:
        raise InvalidRequest(
            f"profile {profile.name}: memory_beats is at least one request of 16, not {profile.memory_beats}",
            field="memory_beats",
            allowed="16 to 1024",
        )
    if profile.memory_bits not in MEMORY_BITS:
        raise InvalidRequest(
            f"profile {profile.name}: a port to memory has 64 or 128 bits, not {profile.memory_bits}",
            field="memory_bits",
            allowed=MEMORY_BITS,
        )
    if profile.memory_bits != 64 and profile.streams:
        raise InvalidRequest(
            f"profile {profile.name}: streams have words of 64 bits; take streams out, or memory_bits",
            field="memory_bits",
        )
    if profile.memory_bits != 64 and profile.cache_bytes:
        raise InvalidRequest(
            f"profile {profile.name}: the cache has words of 64 bits; take cache_bytes out, or memory_bits",
            field="cache_bytes",
            allowed="0 with ports of 128 bits",
        )
    arena_end, dram_end = profile.arena.base + profile.arena.bytes, profile.dram.base + profile.dram.bytes
    if profile.arena.base < profile.dram.base or arena_end > dram_end:
        raise InvalidRequest(f"profile {profile.name}: the arena is not inside the DRAM", field="arena")
    if profile.arena.base % 4096 or profile.arena.bytes % 4096:
        raise InvalidRequest(f"profile {profile.name}: the arena is not page aligned (4096)", field="arena")
