# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Packages as `/lib/firmware/xilinx` holds them, and which of their partial bitstreams fit a board's shell.

::

    <base>/shell.json                        {"shell_type": "PL_DFX", "num_pl_slots": 2, "eddy": {"shell": "39a5..."}}
    <base>/<name>/<name>_slot<N>/accel.json  {"accel_type": "SIHA_PL_DFX", "eddy": {"module": "dct", "build": "0f97...",
                                              "clk_hz": 1e8}}
    <base>/<name>/<name>_slot<N>/<file>      one of .bit, .bit.bin, .bin

What `shell.json` and `accel.json` say by themselves does not tell for which static region a bitstream was built, nor
what a module's identity block reads. So both need a part `eddy` that does; without it nothing could keep a bitstream
for another shell from the device.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.board.images.image_files import image_of, read_manifest, refuse_boot_image
from eddy.board.pynq.fpga_manager import to_binary
from eddy.core.errors import ImageRefused, InvalidRequest
from eddy.core.slots import Image
from eddy.core.units import format_bytes
from eddy.host.files import translate_os_errors, write_private

SHELL, ACCELERATOR, OURS = "shell.json", "accel.json", "eddy"
_FOLDER = re.compile(r"(.+)_slot([0-9]{1,9})")
_MODULE = re.compile(r"[a-z][a-z0-9_]{0,63}")
MAX_JSON_BYTES = 1 << 20
"""Of a file that describes a package; others are not read."""
MAX_HEADER_BYTES = 4096
"""Of a `.bit` file, before its payload."""
_SYNC, _SWAPPED = bytes.fromhex("aa995566"), bytes.fromhex("665599aa")
"""The synchronisation word as a `.bit` has it, and with the bytes of each word the other way round, as the kernel
takes files (Ref: UG570, "Bitstream Composition"; UG1283, `-w -process_bitstream bin`)."""
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What became of one accelerator for one slot.

    Attributes:
        folder: Where it lies in the package.
        file: What was written; "" where it was refused.
        refused: Why it does not fit; "" where it does.
        module: Its module; "" where that is not known.
        slot: For which slot; -1 where that is not known.
    """

    folder: str
    file: str = ""
    refused: str = ""
    module: str = ""
    slot: int = -1


def import_package(base: Path, images: Path) -> tuple[ImportOutcome, ...]:
    """Bring what fits of a package into a board's folder of images.

    Args:
        base: The package.
        images: The folder, with the shell's own manifest (`eddy.json`) in it.

    Raises:
        InvalidRequest: There is no package, or no shell's manifest; or the package is for another shell altogether.
        StorageFailed: The folder cannot be written.
    """
    shell = _shell_of(images)
    _check_shell(base, shell)
    taken: dict[tuple[str, int], Path] = {}
    found = tuple(_outcome(folder, shell, images, taken) for folder in _accelerators(base))
    if not found:
        raise InvalidRequest(f"{base} has no accelerator: none of its folders has an {ACCELERATOR}", field="package")
    return found


def export_package(images: Path, base: Path) -> tuple[ImportOutcome, ...]:
    """Write a board's folder of images as a package, which other loaders and `import_package` read.

    The order of bytes is the kernel's. Nothing in it is for a kernel's driver: there is one overlay, the shell's.

    Args:
        images: The folder, with the shell's own manifest in it.
        base: The package, which must not be there yet.

    Raises:
        InvalidRequest: There is something already, or no shell's manifest.
        ImageRefused: A `.bit` file is damaged.
        StorageFailed: The package cannot be written.
    """
    shell = _shell_of(images)
    if base.exists():
        raise InvalidRequest(f"{base} exists; export to a folder that is not there yet", field="package")
    with translate_os_errors(base):
        base.mkdir(parents=True)
        said = {"shell_type": "PL_DFX", "num_pl_slots": str(len(shell["slots"])), OURS: {"shell": shell["shell"]}}
        _put(base / SHELL, said)
        if (images / "eddy.bit").is_file():
            (base / f"{base.name}.bit.bin").write_bytes(to_binary((images / "eddy.bit").read_bytes()))
        if (images / "eddy.dtbo").is_file():
            shutil.copyfile(images / "eddy.dtbo", base / f"{base.name}.dtbo")
        return tuple(_exported(path, base) for path in sorted(images.glob("*__slot*.json")))


def _shell_of(images: Path) -> dict[str, Any]:
    """What the shell's manifest says of the board.

    Raises:
        InvalidRequest: There is none, or it does not say what it should.
    """
    path = images / "eddy.json"
    if not path.is_file():
        message = f"{images} has no eddy.json: name the folder that the board's images, built or installed, lie in"
        raise InvalidRequest(message, field="images")
    said = read_manifest(path)
    slots = said.get("slots")
    sound = isinstance(slots, list) and all(
        isinstance(slot, dict)
        and all(
            isinstance(slot.get(name), kind) for name, kind in (("index", int), ("image_bytes", int), ("region", str))
        )
        for slot in slots
    )
    if not sound or not all(isinstance(said.get(name), str) for name in ("shell", "part")):
        raise InvalidRequest(f"{path} is no shell's manifest: build the board's images again", field="manifest")
    return said


def _exported(path: Path, base: Path) -> ImportOutcome:
    image = image_of(read_manifest(path), path)
    name = f"{image.module}_slot{image.slot}"
    folder = base / image.module / name
    folder.mkdir(parents=True)
    (folder / f"{name}.bit.bin").write_bytes(to_binary(path.with_suffix(".bit").read_bytes()))
    # Neither signature nor SHA-256: both are of the .bit file, which an import makes again.
    ours = {"module": image.module, "build": image.build, "clk_hz": image.clk_hz}
    _put(folder / ACCELERATOR, {"accel_type": "SIHA_PL_DFX", "accel_devices": [], OURS: ours})
    return ImportOutcome(str(folder), str(folder / f"{name}.bit.bin"), "", image.module, image.slot)


def _put(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_bytes(path, MAX_JSON_BYTES))
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read ({error.strerror})", field="package") from None
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{path} is no JSON: {error}", field="package") from None
    if not isinstance(found, dict):
        raise InvalidRequest(f"{path} is not a JSON object", field="package")
    return found


def _bytes(path: Path, most: int) -> bytes:
    """What a file holds.

    Raises:
        InvalidRequest: It is no file, a pipe that nobody writes say; or it has more bytes than there should be.
        OSError: It cannot be read.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InvalidRequest(f"{path} is no file", field="package")
    if found.st_size > most:
        size, bound = format_bytes(found.st_size), format_bytes(most)
        message = f"{path.name} has {size}; at most {bound} are read: it is not what it is called"
        raise InvalidRequest(message, field="package", allowed=f"<= {most}")
    return path.read_bytes()


def _check_shell(base: Path, shell: Mapping[str, Any]) -> None:
    said = _read(base / SHELL)
    kind, slots = said.get("shell_type"), said.get("num_pl_slots", said.get("num_slots"))
    if kind != "PL_DFX":
        message = f"{base} is a {kind} package: it configures the whole device, and Eddy's shell is that already"
        raise InvalidRequest(f"{message}; import packages of type PL_DFX", field="shell_type", allowed=["PL_DFX"])
    if str(slots) != str(len(shell["slots"])):
        message = f"{base} is for a shell with {slots} slots; this board's has {len(shell['slots'])}"
        raise InvalidRequest(f"{message}: build it for this one", field="num_pl_slots", allowed=len(shell["slots"]))
    ours = said.get(OURS)
    built = ours.get("shell") if isinstance(ours, dict) else None
    if built != shell["shell"]:
        whose = f"for shell {built}" if built else f"and does not say for which shell (`{OURS}.shell` in {SHELL})"
        message = f"{base} was built {whose}; this board's is {shell['shell']}: build it against that shell"
        raise InvalidRequest(message, field="shell", allowed=shell["shell"])


def _accelerators(base: Path) -> Iterator[Path]:
    for path in sorted(base.glob(f"**/{ACCELERATOR}")):
        yield path.parent


def _outcome(folder: Path, shell: Mapping[str, Any], images: Path, taken: dict[tuple[str, int], Path]) -> ImportOutcome:
    try:
        image, data, part = _image(folder, shell)
        before = taken.setdefault((image.module, image.slot), folder)
        if before is not folder:
            raise InvalidRequest(f"{before} has {image.module} for slot {image.slot} already: keep one of them")
        file = images / f"{image.module}__slot{image.slot}.bit"
        write_private(file, data)
        manifest = {**dataclasses.asdict(image), "part": part, "region": _slot(shell, image.slot)["region"]}
        # Last: the manifest is what makes it an image.
        write_private(file.with_suffix(".json"), (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode())
        return ImportOutcome(str(folder), str(file), "", image.module, image.slot)
    except (InvalidRequest, ImageRefused) as error:
        return ImportOutcome(str(folder), refused=error.message)
    except OSError as error:
        return ImportOutcome(str(folder), refused=f"it cannot be read ({error.strerror})")


def _slot(shell: Mapping[str, Any], index: int) -> dict[str, Any]:
    for slot in shell["slots"]:
        if slot["index"] == index:
            return dict(slot)
    raise InvalidRequest(f"this board has no slot {index}; it has 0 to {len(shell['slots']) - 1}", field="slot")


def _image(folder: Path, shell: Mapping[str, Any]) -> tuple[Image, bytes, str]:
    """The image of an accelerator's folder, its `.bit` file, and the part it is for."""
    said = _read(folder / ACCELERATOR)
    if "PL_DFX" not in str(said.get("accel_type")):
        raise InvalidRequest(f"it is of type {said.get('accel_type')}, not SIHA_PL_DFX: no slot takes it")
    named = _FOLDER.fullmatch(folder.name)
    if named is None:
        raise InvalidRequest(f"its folder {folder.name} does not name a slot, as {folder.name}_slot0 would")
    slot = _slot(shell, int(named[2]))
    ours = said.get(OURS)
    if not isinstance(ours, dict):
        raise InvalidRequest(
            f"its {ACCELERATOR} has no `{OURS}` with module, build and clk_hz: it was not built against Eddy's slot"
            " boundary, or its build does not say what the module's identity block reads"
        )
    module, clk_hz = ours.get("module"), ours.get("clk_hz")
    if not isinstance(module, str) or _MODULE.fullmatch(module) is None:
        raise InvalidRequest(f"{str(module)[:80]!r} is no name of a module")
    if not isinstance(clk_hz, (int, float)) or not 0 < clk_hz < math.inf:
        raise InvalidRequest(f"clk_hz is {str(clk_hz)[:80]}; it is a clock in hertz", field="clk_hz", allowed="> 0")
    payload, part = _payload(folder, slot["image_bytes"] + MAX_HEADER_BYTES)
    if part and part != shell["part"]:
        raise InvalidRequest(f"it was built for part {part}; this board has {shell['part']}")
    if len(payload) > slot["image_bytes"]:
        raise InvalidRequest(
            f"its bitstream has {format_bytes(len(payload))}; the largest for slot {slot['index']} has"
            f" {format_bytes(slot['image_bytes'])},"
            " as its region asks for: it was built for another region"
        )
    file = _bit_file(f"{module};PARTIAL=TRUE", shell["part"], payload)
    place = {"shell": shell["shell"], "slot": slot["index"], "bytes": len(payload)}
    image = image_of({**ours, **place, "sha256": hashlib.sha256(file).hexdigest()}, folder / ACCELERATOR)
    return image, file, shell["part"]


def _payload(folder: Path, most: int) -> tuple[bytes, str]:
    """What the configuration port takes, in the order of a `.bit`, and the part a header names; "" without one. No file
    of more than `most` bytes is read."""
    files = [path for path in sorted(folder.iterdir()) if path.suffix in (".bit", ".bin", ".pdi") and path.is_file()]
    if len(files) != 1:
        raise InvalidRequest(f"it has {len(files)} bitstreams ({', '.join(path.name for path in files)}), not one")
    data = _bytes(files[0], most)
    refuse_boot_image(data, files[0].name)
    payload, part = _without_header(data) if files[0].suffix == ".bit" else (data, "")
    head = payload[:_HEAD_BYTES]
    if _SYNC in head:
        return payload, part
    if _SWAPPED in head and len(payload) % 4 == 0:
        words = memoryview(payload).cast("I")
        return b"".join(word.to_bytes(4, "big") for word in words.tolist()), part
    raise InvalidRequest(f"{files[0].name} is no bitstream: it has no synchronisation word")


def _without_header(data: bytes) -> tuple[bytes, str]:
    at, part = 13, ""
    while at + 3 <= len(data):
        key = data[at : at + 1]
        if key == b"e":
            return data[at + 5 :], part
        size = int.from_bytes(data[at + 1 : at + 3], "big")
        if key == b"b":
            part = data[at + 3 : at + 3 + size].rstrip(b"\0").decode(errors="replace")
        at += 3 + size
    raise InvalidRequest("its .bit header is damaged")


def _bit_file(design: str, part: str, payload: bytes) -> bytes:
    """A `.bit` file; the date is fixed, so that the file follows from its payload."""
    fields = ((b"a", design), (b"b", part), (b"c", "2025/01/01"), (b"d", "00:00:00"))
    head = bytes.fromhex("00090ff00ff00ff00ff0000001")
    for key, text in fields:
        value = text.encode() + b"\0"
        head += key + len(value).to_bytes(2, "big") + value
    return head + b"e" + len(payload).to_bytes(4, "big") + payload
