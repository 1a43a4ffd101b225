# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Input files of `eddy submit`: `name=path` pairs into arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.cli.support.pictures import SUFFIXES, TileSheet, cut
from eddy.core.conversion import convert
from eddy.core.errors import InvalidRequest
from eddy.core.units import format_bytes

if TYPE_CHECKING:
    from eddy.client.transport.arrays import BufferInfo


PICTURE = "picture"
"""Name of the label; its value is the picture's size, ``WIDTHxHEIGHT``."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is submitted.

    Attributes:
        arrays: By input.
        sheets: How the pictures among the files were cut, in their order.
        shapes: Shape of a tile, by input that has pictures.
    """

    arrays: dict[str, Any]
    sheets: tuple[TileSheet, ...]
    shapes: dict[str, tuple[int, ...]]

    @property
    def label(self) -> dict[str, str]:
        """The label by which the dashboard puts the tiles of a job's only picture together again."""
        return {PICTURE: f"{self.sheets[0].width}x{self.sheets[0].height}"} if len(self.sheets) == 1 else {}


def split(pairs: Iterable[str]) -> list[tuple[str, Path]]:
    """``["image=a.png"]`` to ``[("image", Path("a.png"))]``.

    Raises:
        InvalidRequest: No equals sign, or no such file.
    """
    found = []
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not equals or not name:
            raise InvalidRequest(f"--input {pair!r} must read NAME=FILE, e.g. image=photo.png.", field="input")
        if Path(path).is_dir():
            raise InvalidRequest(f"--input {name}: {path!r} is a folder; name a file in it.", field="input")
        if not Path(path).is_file():
            raise InvalidRequest(f"--input {name}: there is no file {path!r}.", field="input")
        found.append((name, Path(path)))
    return found


def read(path: Path, buffer: BufferInfo) -> Any:
    """A file as an array for a buffer: `.npy`, or raw bytes of the buffer's type.

    Raises:
        InvalidRequest: The file cannot be read as that.
    """
    import numpy as np

    if path.suffix == ".npy":
        try:
            return np.load(path, allow_pickle=False)
        except (ValueError, EOFError) as failure:
            message = f"{path} is not a .npy file of numbers, or is cut off."
            raise InvalidRequest(message, field=f"inputs.{buffer.name}") from failure
    data = path.read_bytes()
    if not data or len(data) % buffer.bytes:
        message = (
            f"{path} has {format_bytes(len(data))}; {buffer.name} takes a multiple of {format_bytes(buffer.bytes)}."
        )
        raise InvalidRequest(message, field=f"inputs.{buffer.name}")
    values = np.frombuffer(data, buffer.dtype)
    return values.reshape(buffer.shape if buffer.role == "constant" else (-1, *buffer.shape))


def gather(pairs: Sequence[str], buffers: Iterable[BufferInfo], most: int) -> Inputs:
    """What is submitted; a name given several times is a batch, in that order, and a picture is one of tiles.

    Args:
        pairs: ``NAME=FILE``.
        most: Largest batch it takes; a picture is scaled down to that many tiles.

    Raises:
        InvalidRequest: A name or a file is wrong.
    """
    import numpy as np

    known = {buffer.name: buffer for buffer in buffers if buffer.role in ("input", "constant")}
    found: dict[str, list[Any]] = {}
    sheets: list[TileSheet] = []
    shapes: dict[str, tuple[int, ...]] = {}
    for name, path in split(pairs):
        if name not in known:
            message = f"The application has no input {name!r}."
            raise InvalidRequest(message, field="input", allowed=sorted(known))
        if path.suffix.lower() in SUFFIXES:
            tiles, sheet = cut(path, known[name], most)
            sheets.append(sheet)
            shapes[name] = tuple(known[name].shape)
        else:
            tiles = read(path, known[name])
        found.setdefault(name, []).append(tiles)
    arrays: dict[str, Any] = {}
    for name, parts in found.items():
        if len(parts) == 1:
            arrays[name] = parts[0]
            continue
        buffer = known[name]
        shape = buffer.shape
        try:
            items = [part.reshape((-1, *shape)) for part in parts]
            # Each by itself: numpy joins signed and unsigned numbers as floating point, which rounds them.
            arrays[name] = np.concatenate([convert(part, buffer.dtype, *buffer.named) for part in items])
        except ValueError as failure:
            message = f"The files for {name!r} do not have items of shape {shape}."
            raise InvalidRequest(message, field=f"inputs.{name}") from failure
    return Inputs(arrays, tuple(sheets), shapes)
