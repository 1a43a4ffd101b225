# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Pictures in, pictures out: a picture is cut into the tiles an application takes, and put together again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.core.errors import InvalidRequest

if TYPE_CHECKING:
    from eddy.client.transport.arrays import BufferInfo

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".pgm")


@dataclass(frozen=True, slots=True)
class TileSheet:
    """How a picture was cut.

    Attributes:
        width: Of the picture, in pixels.
        rows: Tiles one above the other; the last one may reach beyond the picture.
        columns: Tiles side by side.
    """

    width: int
    height: int
    rows: int
    columns: int

    @property
    def tiles(self) -> int:
        """How many there are."""
        return self.rows * self.columns

    def join(self, tiles: Any) -> Any:
        """A picture as an array, from its tiles ``(tiles, height, width)`` in rows."""
        _, height, width = tiles.shape
        whole = tiles.reshape(self.rows, self.columns, height, width).transpose(0, 2, 1, 3)
        return whole.reshape(self.rows * height, self.columns * width)[: self.height, : self.width]


def cut(path: Path, buffer: BufferInfo, most: int) -> tuple[Any, TileSheet]:
    """Grey levels of a picture as tiles ``(tiles, height, width)``; scaled down where it takes more than `most`.

    What a tile shows beyond the picture repeats its last row and column.

    Raises:
        InvalidRequest: It cannot be read, or the buffer takes no pictures.
    """
    import numpy as np

    if len(buffer.shape) != 2:
        message = f"{buffer.name} takes arrays of shape {buffer.shape}; a picture has two dimensions."
        raise InvalidRequest(message, field=f"inputs.{buffer.name}")
    height, width = buffer.shape
    pixels = _grey(path, buffer.name, height, width, most)
    sheet = TileSheet(pixels.shape[1], pixels.shape[0], -(-pixels.shape[0] // height), -(-pixels.shape[1] // width))
    beyond = ((0, sheet.rows * height - sheet.height), (0, sheet.columns * width - sheet.width))
    whole = np.pad(pixels, beyond, mode="edge").reshape(sheet.rows, height, sheet.columns, width)
    return whole.transpose(0, 2, 1, 3).reshape(sheet.tiles, height, width), sheet


def _grey(path: Path, name: str, height: int, width: int, most: int) -> Any:
    """A picture's grey levels, scaled down until it fits `most` tiles."""
    import numpy as np

    try:
        from PIL import Image, ImageOps
    except ImportError:
        message = f"{path}: pictures need Pillow (`pip install pillow`), or convert it to .npy first."
        raise InvalidRequest(message, field=f"inputs.{name}") from None
    try:
        with Image.open(path) as opened:
            deep = opened.mode.startswith(("I", "F"))
            picture = ImageOps.exif_transpose(opened).convert("L")
    except (OSError, ValueError, Image.DecompressionBombError) as failure:
        raise InvalidRequest(
            f"{path} is not a picture that can be read: {failure}", field=f"inputs.{name}"
        ) from failure
    if deep:
        message = f"{path} has more than 8 bits a pixel, which would be cut off; save it with 8 bits, or as .npy."
        raise InvalidRequest(message, field=f"inputs.{name}", allowed="pictures of 8 bits a channel")
    scale = 1.0
    while -(-round(picture.height * scale) // height) * -(-round(picture.width * scale) // width) > most:
        scale *= 0.98
    size = (max(round(picture.width * scale), 1), max(round(picture.height * scale), 1))
    return np.asarray(picture.resize(size) if size != picture.size else picture)


def save(
    sheets: Sequence[TileSheet], outputs: Mapping[str, Any], shapes: Mapping[str, Sequence[int]], folder: Path
) -> list[Path]:
    """Write each output that has the tiles of what was submitted as pictures, ``<folder>/<name>.png``.

    With several pictures, ``<name>-1.png``, ``<name>-2.png`` and so on.

    Args:
        sheets: How the pictures were cut, in order of submission.
        outputs: Arrays ``(batch, ...)`` by name.
        shapes: Shape of a tile that was submitted, by name of its input.
        folder: Where to; it exists.

    Returns:
        The pictures.
    """
    written: list[Path] = []
    tiles = sum(sheet.tiles for sheet in sheets)
    for name, values in outputs.items():
        if values.shape[0] != tiles or values.dtype != "u1" or values.shape[1:] not in map(tuple, shapes.values()):
            continue
        for file, sheet, part in zip(_names(name, len(sheets)), sheets, _parts(values, sheets), strict=True):
            _write(folder / file, sheet.join(part))
            written.append(folder / file)
    return written


def _names(name: str, count: int) -> Iterable[str]:
    return [f"{name}.png"] if count == 1 else [f"{name}-{number}.png" for number in range(1, count + 1)]


def _parts(values: Any, sheets: Sequence[TileSheet]) -> Iterable[Any]:
    at = 0
    for sheet in sheets:
        yield values[at : at + sheet.tiles]
        at += sheet.tiles


def _write(path: Path, pixels: Any) -> None:
    from PIL import Image

    Image.fromarray(pixels).save(path)
