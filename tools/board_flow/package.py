# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's package: what the build made, with what a board reads beside it.

::

    eddy.bit  eddy.hwh  eddy.json  eddy.dtbo                        the static part
    <module>__slot<k>.bit  <module>__slot<k>.hwh  <module>__slot<k>.json    one partial image
    package.json                                  every file's SHA-256, signed (`eddy.board.images.package`)

Identities are those that the build was given and wrote down (`identities.tcl`), never those of today's sources.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from eddy.board.images.package import seal
from eddy.board.images.signing import sign
from eddy.board.port.profile import Profile
from eddy.core.errors import InvalidRequest
from eddy.core.slots import Image, SlotDescription
from eddy.packages.modules import ModuleManifest
from eddy_sim.design.addressmap import Ip, static_ips
from eddy_sim.design.bitfile import BitHeader, split
from eddy_sim.design.bitstreams import OVERLAY, fits, module_ip, modules
from eddy_sim.design.build import module_build_hash
from eddy_sim.design.hwh import overlay_hwh, partial_hwh

from board_flow.floorplan import ROOT, Board
from board_flow.runs import static_hash

IDENTITIES = "identities.tcl"
_IDENTITY = re.compile(r"identity (\w+) ([0-9a-f]{16})")


class PackingFailed(Exception):
    """What the build left cannot be packed; says what to do."""


@dataclass(frozen=True)
class PackedBuild:
    """What became of a build.

    Attributes:
        images: Partial images that were packed.
        absent: Those that the build has not made: module and slot.
        folder: Where.
    """

    images: int
    absent: tuple[str, ...]
    folder: Path


def write_identities(board: Board, file: Path, only: Sequence[str] = ()) -> None:
    """Write down what each part's identity block shall read, as the build's Tcl takes it.

    A module's is the one it has in simulation: a hash of sources and parameters, for which a record says that a reset
    leaves nothing of a tenant.

    Args:
        board: The board.
        file: What is written.
        only: Modules that are built against an earlier build, whose other parts stay what they are.

    Raises:
        PackingFailed: There is no earlier build, or no such module.
    """
    if only:
        identities = _identities(file)
    else:
        identities = {"static": static_hash(board), **{each.module: _build_hash(each) for each in modules()}}
    known = {each.module: each for each in modules()}
    for name in only:
        if name not in known:
            raise PackingFailed(f"no module {name}; there are: {', '.join(known)}")
        identities[name] = _build_hash(known[name])
    file.write_text("".join(f"identity {name} {value}\n" for name, value in identities.items()), encoding="utf-8")


def _identities(file: Path) -> dict[str, str]:
    found = dict(_IDENTITY.findall(_text(file)))
    if "static" not in found:
        raise PackingFailed(f"{file} has no identity of the static part; build the whole board again")
    return found


def _build_hash(module: ModuleManifest) -> str:
    return f"{module_build_hash(module.module):016x}"


def board_ips(profile: Profile) -> tuple[Ip, ...]:
    """What answers in a board's static part: the engine always, the simulated memory's counters never."""
    return tuple(
        ip
        for ip in static_ips(len(profile.slots), profile.shell_hz, engine=True, streams=profile.streams)
        if ip.path != "memory_counters"
    )


def pack(board: Board, profile: Profile, built: Path, folder: Path, key: Ed25519PrivateKey | None) -> PackedBuild:
    """Pack what a build left.

    Args:
        board: The board.
        profile: Its profile.
        built: Where the build ran.
        folder: Where the package goes; what is there is replaced.
        key: Signs every image's manifest, and the package's.

    Raises:
        PackingFailed: A part is missing, was built for another device, or is larger than the profile says.
    """
    identities = _identities(built / IDENTITIES)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _put_overlay(board, profile, built, folder, identities["static"])
    pairs = [(module, slot) for module in modules() for slot in profile.slots if fits(module, slot)]
    found = [(module, slot) for module, slot in pairs if (built / _name(module, slot)).is_file()]
    for module, slot in found:
        _put_image(profile, module, slot, built, folder, identities, key)
    if not found:
        raise PackingFailed(f"{built} has no partial image; build it: make -C hw/vivado {board.name}")
    _put_overlay_tree(board, folder)
    seal(folder, {"profile": board.name, "part": board.part, "shell": identities["static"]}, key)
    absent = tuple(Path(_name(module, slot)).stem for module, slot in pairs if (module, slot) not in found)
    return PackedBuild(len(found), absent, folder)


def _name(module: ModuleManifest, slot: SlotDescription) -> str:
    return f"{module.module}__{slot.region}.bit"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); build the whole board first: make -C hw/vivado BOARD"
        raise PackingFailed(message) from None


def _bit(path: Path, part: str, partial: bool) -> tuple[bytes, BitHeader]:
    """A `.bit` file of the build, for the right device."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PackingFailed(f"{path} cannot be read ({error.strerror}); build the whole board first") from None
    try:
        header, _ = split(data)
    except InvalidRequest as error:
        raise PackingFailed(f"{path}: {error.message}") from None
    if header.part != part:
        raise PackingFailed(f"{path.name} is for {header.part}; the board has {part}")
    if header.partial != partial:
        raise PackingFailed(f"{path.name} {'is' if header.partial else 'is no'} partial image, by its header")
    return data, header


def _put_overlay(board: Board, profile: Profile, built: Path, folder: Path, shell: str) -> None:
    data, header = _bit(built / f"{OVERLAY}.bit", board.part, partial=False)
    (folder / f"{OVERLAY}.bit").write_bytes(data)
    handoff = overlay_hwh(OVERLAY, board.part, profile.shell_hz, board_ips(profile))
    (folder / f"{OVERLAY}.hwh").write_text(handoff, encoding="utf-8")
    slots = [{**asdict(slot), "pool": slot.pool.value} for slot in profile.slots]
    manifest = {"overlay": OVERLAY, "profile": board.name, "part": board.part, "shell": shell, "slots": slots}
    _put_json(folder / f"{OVERLAY}.json", {**manifest, "bytes": header.bytes, "sha256": sha256(data).hexdigest()})


def _put_image(
    profile: Profile,
    module: ModuleManifest,
    slot: SlotDescription,
    built: Path,
    folder: Path,
    identities: Mapping[str, str],
    key: Ed25519PrivateKey | None,
) -> None:
    name, build = _name(module, slot), identities.get(module.module, "")
    if not build:
        raise PackingFailed(f"{IDENTITIES} has no identity of {module.module}; build it again")
    data, header = _bit(built / name, profile.part, partial=True)
    if header.bytes > slot.image_bytes:
        raise PackingFailed(
            f"{name} has {header.bytes} bytes, the profile says at most {slot.image_bytes} for slot {slot.index}; say"
            f" what was measured (measured_bytes of the slot, hw/vivado/boards.yaml), then tools/board.py"
        )
    image = Image(
        sha256=sha256(data).hexdigest(),
        module=module.module,
        build=build,
        shell=identities["static"],
        slot=slot.index,
        bytes=header.bytes,
        clk_hz=min(module.clk_hz, slot.clk_hz),
        scrub_build=build if module.scrubs(build) else "",
        checked_build=build if module.checked(build) else "",
        control=module.control,
    )
    image = sign(image, key) if key is not None else image
    target = folder / name
    target.write_bytes(data)
    handoff = partial_hwh(module.module, profile.part, module_ip(module, slot.index))
    target.with_suffix(".hwh").write_text(handoff, encoding="utf-8")
    _put_json(target.with_suffix(".json"), {**asdict(image), "region": slot.region, "part": profile.part})


def _put_overlay_tree(board: Board, folder: Path) -> None:
    source = ROOT / "hw" / "vivado" / board.name / "eddy.dtso"
    command = ["dtc", "-@", "-I", "dts", "-O", "dtb", "-o", str(folder / f"{OVERLAY}.dtbo"), str(source)]
    try:
        subprocess.run(command, check=True)
    except FileNotFoundError:
        raise PackingFailed(
            "dtc is not here, which compiles the device tree: apt install device-tree-compiler"
        ) from None


def _put_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")
