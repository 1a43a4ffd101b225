# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Boards by name: the one place that knows which adapter, device and clock belong together.

====== ============================ ==============================
name   PYNQ `Device`                clock
====== ============================ ==============================
pynq   the board's own              `WallClock`, by the shell
rtl    `eddy_sim.device`            the simulated device's
model  none: discrete events        virtual, in the board itself
====== ============================ ==============================
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from eddy.board.images.images import ImageStore
from eddy.board.images.signing import Trust
from eddy.board.port.clock import Clock
from eddy.board.port.port import READY, BoardPort, Preparation
from eddy.board.port.profile import Profile, load_profile
from eddy.board.remote.socket import SocketBoard
from eddy.core.errors import BoardUnreachable, InvalidRequest, NotFound

if TYPE_CHECKING:
    from eddy.board.model.model_modules import Clusters
    from eddy.board.overlay import OverlayFabric
    from eddy.board.pynq.pynq import PynqBoard

BOARDS = ("rtl", "pynq", "model")
IMAGES = Path("/lib/firmware/eddy")
"""Where a real board's overlay and images lie, one folder a profile."""
TRUSTED_KEYS = Path("/etc/eddy/trusted-keys")
"""Where a real board's trusted public keys lie."""
RECORD = Path("/run/eddy/fabric.json")
"""Where it is written down what a real board's fabric holds; in memory, so that a reboot forgets it."""
RETRY_S = 0.02
"""Wall seconds between two attempts to reach a boardd that is coming up."""
BUSY_S = 30.0
"""Wall seconds that one which listens, and says nothing, is waited for beyond that: on a machine that others use up it
may not have had its turn yet."""

Progress = Callable[[str], None]


def open_board(
    kind: str,
    profile: str | Profile,
    *,
    images: Path | None = None,
    trusted_keys: Path | None = None,
    first_seq: int = 0,
    modules: Iterable[str] = (),
    scrubbed: Collection[str] = (),
    unchecked: Collection[str] = (),
    latency: Mapping[str, float] | Callable[[str, str], float] = MappingProxyType({}),
    progress: Progress = lambda _: None,
    record: Path = RECORD,
    take_fabric: bool = False,
) -> BoardPort:
    """Open a board in this process.

    Args:
        kind: ``rtl``, ``pynq`` or ``model``.
        profile: What the board is, or the name of a shipped profile.
        images: Folder of the overlay and its partial bitstreams; made (``rtl``) or found by default.
        trusted_keys: Folder of public keys whose signatures count.
        first_seq: Number of the first event.
        modules: For ``model``: the modules it has images of.
        scrubbed: For ``model``: those of them that a reset makes clean for another tenant.
        unchecked: For ``model``: those of them that have no check on record.
        latency: For ``model``: seconds an item takes, by task or module, or a function of module and item.
        progress: Told what is being built.
        record: For ``pynq``: where it is written down what the fabric holds; in memory.
        take_fabric: For ``pynq``: configure the fabric although somebody else's design is on it.

    Raises:
        BoardNotReady: For ``pynq``: what is missing, or whose design is in the way.
        InvalidRequest: No such kind; or signatures are required and no key is trusted.
        NotFound: No such profile, or no overlay where one is needed.
    """
    found = load_profile(profile) if isinstance(profile, str) else profile
    if kind == "rtl":
        return _open_rtl(found, images, trusted_keys, first_seq, progress)
    if kind == "pynq":
        return _open_pynq(
            found, images or IMAGES / found.name, trusted_keys or TRUSTED_KEYS, first_seq, record, take_fabric
        )
    if kind == "model":
        from eddy.board.model.model import ModelBoard

        trust, computing = Trust.load(False, trusted_keys), _clusters(progress)
        return ModelBoard.from_profile(found, modules, latency, scrubbed, unchecked, trust=trust, computing=computing)
    raise InvalidRequest(f"no board {kind!r}; allowed: {', '.join(BOARDS)}", field="board", allowed=BOARDS)


def _clusters(progress: Progress) -> Clusters | None:
    """What computes a model's kernels: the model of the instruction set, where the simulator is installed."""
    try:
        from eddy_sim.gpu.executors import IsaExecutor
    except ModuleNotFoundError:
        progress("kernels only take their time: the simulator, which computes them, is not installed")
        return None
    return IsaExecutor


def connect(path: Path, patience_s: float = 0.0, progress: Callable[[str], None] = lambda _: None) -> BoardPort:
    """The board of a running boardd.

    Args:
        path: Its socket.
        patience_s: Wall seconds in which it may still come up: whoever starts both need not start one after the other.
            One that listens and is busy is waited for longer, where this is not 0.
        progress: Told that it is waited for.

    Raises:
        BoardUnreachable: Nobody listens there.
    """
    until_s, told = time.monotonic() + patience_s, False
    while True:
        try:
            return SocketBoard(path)
        except BoardUnreachable as failure:
            listens = patience_s > 0 and isinstance(failure.__cause__, TimeoutError)
            if time.monotonic() >= until_s + (BUSY_S if listens else 0.0):
                raise
            if not told:
                progress(f"waiting up to {patience_s:g} s for boardd at {path}")
            told = True
            time.sleep(RETRY_S)


def _open_rtl(
    profile: Profile, images: Path | None, trusted_keys: Path | None, first_seq: int, progress: Progress
) -> BoardPort:
    from eddy_sim.boards.loader import Preparer
    from eddy_sim.design import bitstreams, build
    from eddy_sim.design.model_builder import ModelBuilder, command_of
    from eddy_sim.device import SimClock, SimDevice

    files = bitstreams.list_or_build(profile, progress)
    device = SimDevice(profile, progress=progress)
    clock = SimClock(device)
    trust = Trust.load(profile.requires_signature, trusted_keys)
    bits = profile.memory_bits
    built, command = partial(build.module_is_built, memory_bits=bits), partial(command_of, memory_bits=bits)
    builder = ModelBuilder(progress, built, command)
    folder = images or files.overlay.parent
    # Reading a file of the host takes no board time.
    timed = replace(profile, configuration=replace(profile.configuration, storage_bytes_per_s=0.0))
    board = open_device(
        files.overlay, device, clock, timed, folder, trust, first_seq, preparer=Preparer(profile, builder).prepare
    )
    weakref.finalize(board, builder.close)
    return board


def _open_pynq(
    profile: Profile, images: Path, trusted_keys: Path, first_seq: int, record_file: Path, take_fabric: bool
) -> BoardPort:
    from eddy.board.pynq.real_board import check_surroundings, open_fabric

    file = images / "eddy.bit"
    if not file.is_file():
        raise NotFound(
            f"no overlay {file}; install the bitstreams of profile {profile.name} there"
            " (docs/how-to/bring-up.md); without a board, --board rtl simulates one",
            field="images",
        )
    keys = trusted_keys if trusted_keys.is_dir() else None
    trust = Trust.load(profile.requires_signature, keys)
    check_surroundings()
    opened = open_fabric(file, profile, record_file, take_fabric)
    store = ImageStore(images, profile.configuration.image_cache_bytes)
    return _board(opened.fabric, opened.clock, profile, store, trust, first_seq)


def open_device(
    file: Path,
    device: Any,
    clock: Clock,
    profile: Profile,
    images: Path,
    trust: Trust,
    first_seq: int = 0,
    *,
    preparer: Callable[[str], Preparation] = lambda module: READY,
) -> PynqBoard:
    """Configure a PYNQ device that heeds PYNQ's calls, and open the board on it.

    Args:
        file: The overlay's `.bit`, its `.hwh` beside it.
        device: The PYNQ device.
        clock: Its time.
        profile: What the board is.
        images: Folder of partial bitstreams.
        trust: Whose signatures count.
        first_seq: Number of the first event.
        preparer: Makes what the loads of a module, or of the file of an image, need beforehand.
    """
    import pynq

    from eddy.board.overlay import OverlayFabric

    loop = asyncio.new_event_loop()
    # PYNQ registers its interrupt files with the thread's current loop while the drivers are made.
    asyncio.set_event_loop(loop)
    pynq.Device.active_device = device
    overlay = pynq.Overlay(str(file), device=device)
    store = ImageStore(images, profile.configuration.image_cache_bytes)
    return _board(OverlayFabric(overlay, profile, loop), clock, profile, store, trust, first_seq, preparer)


def _board(
    fabric: OverlayFabric,
    clock: Clock,
    profile: Profile,
    store: ImageStore,
    trust: Trust,
    first_seq: int,
    preparer: Callable[[str], Preparation] = lambda module: READY,
) -> PynqBoard:
    from eddy.board.pynq.pynq import PynqBoard

    board = PynqBoard(fabric, clock, profile, store, trust, first_seq, preparer)
    # Whoever forgets `release` leaves at least no task behind that waits for an interrupt.
    weakref.finalize(board, fabric.close)
    return board
