# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the tests of the hypervisor share: an application whose results can be computed by hand, on the model board."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import anyio
from eddy.board.images.signing import Trust
from eddy.board.model.model import SHELL, ModelBoard, ModelFaults
from eddy.board.model.model_images import model_images
from eddy.board.model.model_memory import GrantedMemory
from eddy.board.model.model_modules import Behaviour
from eddy.board.port.port import Access, BoardDescription
from eddy.core.applications import Application, BufferRole, BufferSpec, TaskSpec
from eddy.core.records import JobRecord, JobRequest
from eddy.core.slots import Image, Pool, SlotDescription
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.jobs.job_spec import arena_bytes
from eddy.packages.modules import ArgumentRegister, ModuleKind, ModuleManifest, RegisterKind
from eddy.store import Store
from eddy_sim.design import bitfile

TENANT = "alice"
BYTES = 64
KEY = bytes(range(BYTES))
LATENCY = {"rotate": 2e-3, "mix": 3e-3, "flip": 1e-3}


def _buffer(name: str, role: BufferRole) -> BufferSpec:
    return BufferSpec(name, role, BYTES, "u1", (BYTES,))


CHAIN = Application(
    name="chain",
    tasks=(
        TaskSpec(0, "rotate", "rotate", (("in", "in"), ("out", "a"), ("by", 3)), 1e-3, 1e-1),
        TaskSpec(1, "mix", "mix", (("in", "a"), ("key", "key"), ("out", "b")), 1e-3, 1e-1),
        TaskSpec(2, "flip", "flip", (("in", "b"), ("out", "out")), 1e-3, 1e-1),
    ),
    edges=((0, 1), (1, 2)),
    buffers=(
        _buffer("in", BufferRole.INPUT),
        _buffer("a", BufferRole.INTERMEDIATE),
        _buffer("b", BufferRole.INTERMEDIATE),
        _buffer("key", BufferRole.CONSTANT),
        _buffer("out", BufferRole.OUTPUT),
    ),
)
"""Rotate by three, exclusive-or with a key, invert."""


def _manifest(module: str, *registers: ArgumentRegister) -> ModuleManifest:
    return ModuleManifest(module, ModuleKind.HLS, module, Path(f"{module}.f"), (1, 0), 1e8, registers)


def _pointer(name: str, offset: int, access: Access) -> ArgumentRegister:
    return ArgumentRegister(name, offset, 64, RegisterKind.POINTER, access)


_IN, _OUT = _pointer("in", 0x10, Access.READ), _pointer("out", 0x1C, Access.WRITE)
MODULES: Mapping[str, ModuleManifest] = {
    "rotate": _manifest("rotate", _IN, _OUT, ArgumentRegister("by", 0x28, 32, RegisterKind.SCALAR)),
    "mix": _manifest("mix", _IN, _OUT, _pointer("key", 0x28, Access.READ)),
    "flip": _manifest("flip", _IN, _OUT),
}


def _word(registers: Mapping[int, int], offset: int) -> int:
    return registers[offset] | registers[offset + 4] << 32


def _rotate(registers: Mapping[int, int], memory: GrantedMemory) -> None:
    data, by = memory.read(_word(registers, 0x10), BYTES), registers[0x28]
    memory.write(_word(registers, 0x1C), data[by:] + data[:by])


def _mix(registers: Mapping[int, int], memory: GrantedMemory) -> None:
    data, key = memory.read(_word(registers, 0x10), BYTES), memory.read(_word(registers, 0x28), BYTES)
    memory.write(_word(registers, 0x1C), bytes(a ^ b for a, b in zip(data, key, strict=True)))


def _flip(registers: Mapping[int, int], memory: GrantedMemory) -> None:
    memory.write(_word(registers, 0x1C), bytes(255 - byte for byte in memory.read(_word(registers, 0x10), BYTES)))


BEHAVIOURS: Mapping[str, Behaviour] = {"rotate": _rotate, "mix": _mix, "flip": _flip}


def item(number: int, salt: int = 0) -> bytes:
    """The input of one item."""
    return bytes((7 * byte + 31 * number + salt) % 256 for byte in range(BYTES))


def expected(batch: int = 1, salt: int = 0) -> bytes:
    """What must come out."""

    def one(data: bytes) -> bytes:
        turned = data[3:] + data[:3]
        return bytes(255 - (a ^ b) for a, b in zip(turned, KEY, strict=True))

    return b"".join(one(item(number, salt)) for number in range(batch))


def description(slots: int = 3, arena: int = 1 << 20) -> BoardDescription:
    """A board with some pipeline slots of different sizes, and one GPU slot behind them."""
    pools = [Pool.PIPELINE] * slots + [Pool.GPU]
    described = tuple(SlotDescription(i, f"slot{i}", pool, 1000 + 100 * i, 1e8) for i, pool in enumerate(pools))
    return BoardDescription("model", "test", SHELL, 1e8, described, arena, 1e6, False)


def model_board(
    slots: int = 3,
    faults: ModelFaults | None = None,
    slow: float = 1.0,
    arena_jobs: int | None = None,
    unchecked: Collection[str] = (),
    trust: Trust = Trust(False),  # noqa: B008 - frozen
) -> ModelBoard:
    """A board that can run `CHAIN`; `arena_jobs` says for how many batches of four it has memory.

    Of modules that are `unchecked`, no check is on record. `trust` says whose own images it takes.
    """
    arena = 1 << 20 if arena_jobs is None else arena_jobs * arena_bytes(CHAIN, 4)
    board = description(slots, arena)
    latency = {module: min(takes_s * slow, 9e-2) for module, takes_s in LATENCY.items()}
    images = model_images(board, LATENCY, unchecked=unchecked)
    return ModelBoard(board, images, latency, behaviours=BEHAVIOURS, faults=faults, trust=trust)


def own_image(folder: Path, slot: SlotDescription, of: str, name: str, **changed: Any) -> Path:
    """A `.bit` file of module `of` for a slot of `model_board`, its manifest beside it, not signed; its check is on
    record."""
    build = hashlib.sha256(name.encode()).hexdigest()[:16]
    data = bitfile.header(f"{name};PARTIAL=TRUE", "part", slot.image_bytes) + build.encode().ljust(slot.image_bytes)
    sha256 = hashlib.sha256(data).hexdigest()
    image = Image(sha256, of, build, SHELL, slot.index, slot.image_bytes, slot.clk_hz, checked_build=build)
    path = folder / f"{name}__slot{slot.index}.bit"
    path.write_bytes(data)
    path.with_suffix(".json").write_text(json.dumps(asdict(replace(image, **changed))))
    return path


def put(store: Store, tenant: str, data: bytes) -> str:
    """Put a blob up; answers its hash."""
    sha256 = hashlib.sha256(data).hexdigest()
    store.blobs.put(tenant, sha256, data)
    return sha256


def put_inputs(
    store: Store, tenant: str = TENANT, batch: int = 1, salt: int = 0, whole: bool = False
) -> dict[str, tuple[str, ...]]:
    """Put a batch's inputs up, as one blob or one an item."""
    items = [item(number, salt) for number in range(batch)]
    blobs = [b"".join(items)] if whole else items
    return {"in": tuple(put(store, tenant, blob) for blob in blobs)}


def request(
    store: Store,
    *,
    tenant: str = TENANT,
    batch: int = 1,
    salt: int = 0,
    key: str = "",
    inputs: dict[str, tuple[str, ...]] | None = None,
) -> JobRequest:
    """A request for `CHAIN` whose blobs are uploaded."""
    return JobRequest(
        tenant=tenant,
        application=CHAIN.name,
        batch=batch,
        inputs=inputs or put_inputs(store, tenant, batch, salt),
        constants={"key": put(store, tenant, KEY)},
        idempotency_key=key,
    )


def finish(engine: Engine) -> None:
    """Go on until nothing is left to do."""
    while not engine.is_idle:
        engine.step()
    assert not engine.stalled


async def ended(hypervisor: Hypervisor, store: Store, record: JobRecord) -> JobRecord:
    """Wait for the end of a job; answers its record."""
    with anyio.fail_after(180):
        async for _ in hypervisor.following.events(record.tenant, record.id):
            pass
    return store.jobs.get(record.tenant, record.id)
