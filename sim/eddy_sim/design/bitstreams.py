# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The bitstream files of a board profile: the overlay and one partial bitstream a module and slot, built where missing.

For every profile, `build/bitstreams/<profile>/` holds::

    eddy.bit  eddy.hwh  eddy.json                                   the static region
    <module>__slot<k>.bit  <module>__slot<k>.hwh  <module>__slot<k>.json    one partial bitstream

The `.bit` files follow from the identities alone (`eddy_sim.design.bitfile`), and an identity is a hash of sources and
toolchain: nothing is written twice unless its sources changed, and two machines write the same bytes. The `.json`
beside a partial bitstream is its manifest: the fields of `eddy.core.slots.Image`, and what a loader wants to know.

The Verilated models behind the files are built when they are first loaded (`eddy_sim.design.models` does it ahead of
time).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eddy.board.images.signing import load_key, sign
from eddy.board.port.profile import Profile, load_profile
from eddy.core.errors import EddyError
from eddy.core.slots import Control, Image, Pool, SlotDescription
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleKind, ModuleManifest

from eddy_sim.design import bitfile, build, hwh
from eddy_sim.design.addressmap import Ip, RegisterSpec, argument_map, slot_ip, static_ips
from eddy_sim.tools.products import Progress, build_folder, ignore_progress

OVERLAY = "eddy"
"""Name of the overlay, and of its files."""
OVERLAY_BYTES = 1 << 20
"""Payload of the full bitstream. No figure rests on it: board time starts with the static region configured."""


@dataclass(frozen=True, slots=True)
class Partial:
    """A partial bitstream.

    Attributes:
        slot: Index of its slot.
        region: Name of the slot as `Overlay.pr_download` takes it.
        module: What it holds.
        file: The `.bit` file.
        bytes: Length of its payload, as the configuration port takes it.
        image: Its manifest's image.
    """

    slot: int
    region: str
    module: str
    file: Path
    bytes: int
    image: Image


@dataclass(frozen=True, slots=True)
class BitstreamSet:
    """All files of a profile."""

    profile: str
    overlay: Path
    shell: str
    partials: tuple[Partial, ...]

    def to_json(self) -> dict[str, Any]:
        """What `eddy bitstreams --json` prints."""
        return {
            "profile": self.profile,
            "overlay": str(self.overlay),
            "shell": self.shell,
            "partials": [
                {
                    "slot": partial.slot,
                    "region": partial.region,
                    "module": partial.module,
                    "file": str(partial.file),
                    "bytes": partial.bytes,
                    "sha256": partial.image.sha256,
                }
                for partial in self.partials
            ],
        }

    def find(self, module: str, slot: int) -> Partial:
        """The partial bitstream of a module for a slot.

        Raises:
            KeyError: There is none; the message names it.
        """
        for partial in self.partials:
            if (partial.module, partial.slot) == (module, slot):
                return partial
        raise KeyError(f"no partial bitstream of {module} for slot {slot} of {self.profile}")


def folder_of(profile: str) -> Path:
    """Where the files of a profile go."""
    return build_folder().parent / "bitstreams" / profile


def shell_identity(profile: Profile) -> str:
    """Identity of the static region of a profile, 16 hex digits, as its registers read."""
    return f"{build.shell_build_hash(build.ShellShape.of(profile)):016x}"


def modules(progress: Progress = ignore_progress) -> tuple[ModuleManifest, ...]:
    """The reconfigurable modules of the source tree, by name; one whose manifest is wrong is left out and said so."""
    found = []
    for path in sorted((build.ROOT / "bitstreams").glob("*/manifest.yaml")):
        try:
            found.append(load_module_manifest(path))
        except EddyError as error:
            progress(f"module {path.parent.name} is left out: {error.message}")
    return tuple(found)


def fits(module: ModuleManifest, slot: SlotDescription) -> bool:
    """Whether a slot may hold a module: GPU clusters go into GPU slots alone, accelerators anywhere."""
    return module.kind is not ModuleKind.GPU or slot.pool is Pool.GPU


def list_or_build(
    profile: str | Profile,
    progress: Progress = ignore_progress,
    key: Path | None = None,
    found: Sequence[ModuleManifest] | None = None,
) -> BitstreamSet:
    """The files of a profile, made where they are missing, stale or damaged.

    Args:
        profile: A profile, or its name.
        progress: Told what is being written.
        key: Private key (`eddy.board.images.signing`) to sign the manifests with; left as they are without.
        found: The modules to build for; those of the source tree without.

    Raises:
        NotFound: There is no such profile.
        InvalidRequest: An image size of the profile cannot be, or the key cannot be read.
    """
    board = load_profile(profile) if isinstance(profile, str) else profile
    folder = folder_of(board.name)
    folder.mkdir(parents=True, exist_ok=True)
    shell = shell_identity(board)
    written: list[str] = []
    overlay = _overlay(board, shell, folder, written.append)
    partials = []
    for module in modules(progress) if found is None else found:
        build_hash = _module_identity(module, progress)
        if build_hash is None:
            continue
        for slot in board.slots:
            if fits(module, slot):
                partials.append(_partial(board, shell, module, build_hash, slot, folder, key, written.append))
    if written:
        progress(f"wrote {len(written)} bitstream files of profile {board.name}")
    _remove_stale(folder, {partial.file.stem for partial in partials})
    return BitstreamSet(board.name, overlay, shell, tuple(partials))


def register_map(module: ModuleManifest) -> tuple[RegisterSpec, ...]:
    """A module's registers as its `.hwh` shows them."""
    return argument_map(module.registers, module.control if module.kind is ModuleKind.HLS else Control.NONE)


def module_ip(module: ModuleManifest, slot: int) -> Ip:
    """A module in a slot as an addressable core, its path relative to the slot."""
    vlnv = f"eddy:{module.kind.value}:{module.module}:{module.register_map[0]}.{module.register_map[1]}"
    ip = slot_ip(slot, module.module, vlnv, register_map(module))
    return Ip(module.module, ip.vlnv, ip.base, ip.bytes, ip.registers, ip.interrupts)


def _module_identity(module: ModuleManifest, progress: Progress) -> str | None:
    try:
        return f"{build.module_build_hash(module.module):016x}"
    except (EddyError, OSError) as error:
        progress(f"module {module.module} is left out: {error}")
        return None


def _overlay(board: Profile, shell: str, folder: Path, written: Progress) -> Path:
    path = folder / f"{OVERLAY}.bit"
    identity = bitfile.Identity(OVERLAY, shell, shell, -1, board.part)
    ips = static_ips(len(board.slots), board.shell_hz, board.configuration.by_engine, board.streams)
    handoff = hwh.overlay_hwh(OVERLAY, board.part, board.shell_hz, ips)
    data = _file(path, identity, OVERLAY_BYTES, written)
    manifest = {
        "overlay": OVERLAY,
        "profile": board.name,
        "part": board.part,
        "shell": shell,
        "slots": [_plain(asdict(slot)) for slot in board.slots],
        "bytes": OVERLAY_BYTES,
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    _write(path.with_suffix(".hwh"), handoff.encode())
    _write(path.with_suffix(".json"), _pretty(manifest))
    return path


def _partial(
    board: Profile,
    shell: str,
    module: ModuleManifest,
    build_hash: str,
    slot: SlotDescription,
    folder: Path,
    key: Path | None,
    written: Progress,
) -> Partial:
    path = folder / f"{module.module}__{slot.region}.bit"
    identity = bitfile.Identity(module.module, build_hash, shell, slot.index, board.part)
    data = _file(path, identity, slot.image_bytes, written)
    image = Image(
        sha256=hashlib.sha256(data).hexdigest(),
        module=module.module,
        build=build_hash,
        shell=shell,
        slot=slot.index,
        bytes=slot.image_bytes,
        clk_hz=min(module.clk_hz, slot.clk_hz),
        scrub_build=build_hash if module.scrubs(build_hash) else "",
        checked_build=build_hash if module.checked(build_hash) else "",
        control=module.control,
    )
    image = _signed(image, path.with_suffix(".json"), key)
    handoff = hwh.partial_hwh(module.module, board.part, module_ip(module, slot.index))
    _write(path.with_suffix(".hwh"), handoff.encode())
    _write(path.with_suffix(".json"), _pretty(_manifest(image, module, slot, board)))
    return Partial(slot.index, slot.region, module.module, path, slot.image_bytes, image)


def _manifest(image: Image, module: ModuleManifest, slot: SlotDescription, board: Profile) -> dict[str, Any]:
    registers = {
        register.name: {
            "offset": register.offset,
            "width": register.width,
            "kind": register.kind.value,
            "access": register.access.value if register.access else "",
        }
        for register in module.registers
    }
    return {
        **asdict(image),
        "region": slot.region,
        "part": board.part,
        "kind": module.kind.value,
        "register_map": "{}.{}".format(*module.register_map),
        "registers": registers,
        "resources": asdict(module.resources),
        "scrub": module.scrub.value,
    }


def _signed(image: Image, manifest: Path, key: Path | None) -> Image:
    """The image with a new signature, or with the one its manifest has for just this image."""
    if key is not None:
        return sign(image, load_key(key))
    try:
        old = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return image
    unchanged = isinstance(old, dict) and {**asdict(image), "signature": old.get("signature")}.items() <= old.items()
    return Image(**{**asdict(image), "signature": str(old["signature"])}) if unchanged else image


def _file(path: Path, identity: bitfile.Identity, payload_bytes: int, written: Progress) -> bytes:
    """The bytes of an image's file, which is written unless it is there, undamaged."""
    if path.is_file():
        data = path.read_bytes()
        if bitfile.is_file_of(data, identity, payload_bytes):
            return data
    data = bitfile.make(identity, payload_bytes)
    written(path.name)
    _write(path, data)
    return data


def _write(path: Path, data: bytes) -> None:
    """Replace a file in one step, so that a reader sees the old one or the new one; leave an equal one alone."""
    if path.is_file() and path.read_bytes() == data:
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)


def _remove_stale(folder: Path, current: set[str]) -> None:
    for path in _partial_files(folder):
        if path.stem not in current:
            path.unlink(missing_ok=True)


def _partial_files(folder: Path) -> Iterator[Path]:
    for suffix in ("json", "bit", "hwh"):
        yield from folder.glob(f"*__slot*.{suffix}")


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: getattr(value, "value", value) for name, value in values.items()}


def _pretty(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()
