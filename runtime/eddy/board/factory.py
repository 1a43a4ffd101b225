"""Boards by name: the one place that knows which adapter, device and clock belong together.

====== ============================ ==============================
name   PYNQ `Device`                clock
====== ============================ ==============================
pynq   the board's own              `WallClock`
rtl    `eddy_sim.device`            the simulated device's
model  none: discrete events        virtual, in the board itself
====== ============================ ==============================
"""

from __future__ import annotations

import asyncio
import os
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from eddy.board.clock import Clock, WallClock
from eddy.board.images import ImageStore
from eddy.board.port import READY, BoardPort, Preparation
from eddy.board.profile import Profile, load_profile
from eddy.board.signing import Trust
from eddy.board.socket import SocketBoard
from eddy.core.errors import BoardUnreachable, InvalidRequest, NotFound

if TYPE_CHECKING:
    from eddy.board.pynq import PynqBoard

BOARDS = ("rtl", "pynq", "model")
IMAGES = Path("/lib/firmware/eddy")
"""Where a real board's overlay and images lie, one folder a profile."""
TRUSTED_KEYS = Path("/etc/eddy/trusted-keys")
"""Where a real board's trusted public keys lie."""
RETRY_S = 0.02
"""Wall seconds between two attempts to reach a boardd that is coming up."""

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
    latency: Mapping[str, float] | Callable[[str, str], float] = MappingProxyType({}),
    progress: Progress = lambda _: None,
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
        latency: For ``model``: seconds an item takes, by task or module, or a function of module and item.
        progress: Told what is being built.

    Raises:
        InvalidRequest: No such kind; or signatures are required and no key is trusted.
        NotFound: No such profile, or no overlay where one is needed.
    """
    found = load_profile(profile) if isinstance(profile, str) else profile
    if kind == "rtl":
        return _open_rtl(found, images, trusted_keys, first_seq, progress)
    if kind == "pynq":
        return _open_pynq(found, images or IMAGES / found.name, trusted_keys or TRUSTED_KEYS, first_seq)
    if kind == "model":
        from eddy.board.model import ModelBoard

        return ModelBoard.from_profile(found, modules, latency, scrubbed)
    raise InvalidRequest(f"no board {kind!r}; allowed: {', '.join(BOARDS)}", field="board", allowed=BOARDS)


def connect(path: Path, patience_s: float = 0.0, progress: Callable[[str], None] = lambda _: None) -> BoardPort:
    """The board of a running boardd.

    Args:
        path: Its socket.
        patience_s: Wall seconds in which it may still come up: whoever starts both need not start one after the other.
        progress: Told that it is waited for.

    Raises:
        BoardUnreachable: Nobody listens there.
    """
    until_s, told = time.monotonic() + patience_s, False
    while True:
        try:
            return SocketBoard(path)
        except BoardUnreachable:
            if time.monotonic() >= until_s:
                raise
            if not told:
                progress(f"waiting up to {patience_s:g} s for boardd at {path}")
            told = True
            time.sleep(RETRY_S)


def _open_rtl(
    profile: Profile, images: Path | None, trusted_keys: Path | None, first_seq: int, progress: Progress
) -> BoardPort:
    from eddy_sim import bitstreams
    from eddy_sim.device import SimClock, SimDevice
    from eddy_sim.model_builder import ModelBuilder

    files = bitstreams.list_or_build(profile, progress)
    device = SimDevice(profile, progress=progress)
    clock = SimClock(device)
    trust = Trust.load(profile.requires_signature, trusted_keys)
    builder = ModelBuilder(progress)
    folder = images or files.overlay.parent
    # Reading a file of the host takes no board time.
    timed = replace(profile, configuration=replace(profile.configuration, storage_bytes_per_s=0.0))
    board = open_device(files.overlay, device, clock, timed, folder, trust, first_seq, preparer=builder.prepare)
    weakref.finalize(board, builder.close)
    return board


def _open_pynq(profile: Profile, images: Path, trusted_keys: Path, first_seq: int) -> BoardPort:
    import pynq

    overlay = images / "eddy.bit"
    if not overlay.is_file():
        raise NotFound(f"no overlay {overlay}; install the bitstreams of profile {profile.name} there", field="images")
    device = pynq.Device.active_device
    keys = trusted_keys if trusted_keys.is_dir() else None
    trust = Trust.load(profile.requires_signature, keys)
    fresh = not _configured(overlay)
    return open_device(overlay, device, WallClock(), profile, images, trust, first_seq, download=fresh)


def open_device(
    file: Path,
    device: Any,
    clock: Clock,
    profile: Profile,
    images: Path,
    trust: Trust,
    first_seq: int = 0,
    *,
    download: bool = True,
    preparer: Callable[[str], Preparation] = lambda module: READY,
) -> PynqBoard:
    """Open the board on a PYNQ device: what `rtl` and `pynq` share, which is everything above the device.

    Args:
        file: The overlay's `.bit`, its `.hwh` beside it.
        device: The PYNQ device.
        clock: Its time.
        profile: What the board is.
        images: Folder of partial bitstreams.
        trust: Whose signatures count.
        first_seq: Number of the first event.
        download: Whether to configure the fabric; False where this overlay is on it already.
        preparer: Makes what the loads of a module need beforehand.
    """
    import pynq

    from eddy.board.overlay import OverlayFabric
    from eddy.board.pynq import PynqBoard

    loop = asyncio.new_event_loop()
    # PYNQ registers its interrupt files with the thread's current loop while the drivers are made.
    asyncio.set_event_loop(loop)
    pynq.Device.active_device = device
    overlay = pynq.Overlay(str(file), download=download, device=device)
    fabric = OverlayFabric(overlay, profile, loop)
    board = PynqBoard(
        fabric, clock, profile, ImageStore(images, profile.configuration.image_cache_bytes), trust, first_seq, preparer
    )
    # Whoever forgets `release` leaves at least no task behind that waits for an interrupt.
    weakref.finalize(board, fabric.close)
    return board


def _configured(overlay: Path) -> bool:
    """Whether this very overlay is on the board already.

    A boardd that takes over from one that died must not configure the whole fabric over slots that may be in the
    middle of a burst; it closes them instead. Reading a register of an empty fabric would hang the processor, so this
    asks PYNQ's own record and the kernel, not the fabric.
    """
    from pynq.pl_server.embedded_device import bitstream_hash
    from pynq.pl_server.global_state import global_state_file_exists, load_global_state

    state = Path("/sys/class/fpga_manager/fpga0/state")
    if not state.is_file() or state.read_text().strip() != "operating" or not global_state_file_exists():
        return False
    record = load_global_state()
    same = os.path.realpath(record.bitfile_name) == os.path.realpath(overlay)
    return bool(same and record.bitfile_hash == bitstream_hash(str(overlay)))
