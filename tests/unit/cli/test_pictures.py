# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Pictures become tiles, and tiles become pictures again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from eddy.cli.support import pictures
from eddy.client.transport.arrays import BufferInfo
from eddy.core.errors import InvalidRequest
from PIL import Image

TILE = BufferInfo("image", "input", 64, np.dtype("u1"), (8, 8), False, True)


def written(folder: Path, height: int, width: int, name: str = "a.png") -> tuple[Path, npt.NDArray[np.uint8]]:
    pixels = np.random.default_rng(height * width).integers(0, 256, (height, width), np.uint8)
    Image.fromarray(pixels).save(folder / name)
    return folder / name, pixels


@pytest.mark.parametrize(("height", "width", "tiles"), [(8, 8, 1), (16, 24, 6), (13, 17, 6), (3, 5, 1), (1, 40, 5)])
def test_what_goes_in_comes_out(tmp_path: Path, height: int, width: int, tiles: int) -> None:
    path, pixels = written(tmp_path, height, width)
    cut, sheet = pictures.cut(path, TILE, 30)
    assert cut.shape == (tiles, 8, 8) == (sheet.tiles, 8, 8)
    assert np.array_equal(sheet.join(cut), pixels)
    pictures.save([sheet], {"result": cut, "levels": cut.astype("i2")}, {"image": (8, 8)}, tmp_path)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "result.png")), pixels)
    assert not (tmp_path / "levels.png").exists(), "only what is made of the same kind of tiles"


def test_tiles_stand_in_rows(tmp_path: Path) -> None:
    path, pixels = written(tmp_path, 16, 16)
    cut, _ = pictures.cut(path, TILE, 30)
    assert np.array_equal(cut[1], pixels[:8, 8:])
    assert np.array_equal(cut[2], pixels[8:, :8])


@pytest.mark.parametrize("most", [1, 2, 6, 30])
def test_a_large_picture_is_scaled_to_what_a_job_takes(tmp_path: Path, most: int) -> None:
    path, _ = written(tmp_path, 300, 400)
    cut, sheet = pictures.cut(path, TILE, most)
    assert 1 <= len(cut) <= most
    assert sheet.width / sheet.height == pytest.approx(4 / 3, rel=0.2)
    if most == 30:
        assert len(cut) >= 20, "no smaller than it must be"


def test_several_pictures_come_out_apart(tmp_path: Path) -> None:
    inputs = [written(tmp_path, 8, 16, "a.png"), written(tmp_path, 16, 8, "b.png")]
    parts = [pictures.cut(path, TILE, 30) for path, _ in inputs]
    whole = np.concatenate([tiles for tiles, _ in parts])
    pictures.save([sheet for _, sheet in parts], {"result": whole}, {"image": (8, 8)}, tmp_path)
    for number, (_, pixels) in enumerate(inputs, 1):
        assert np.array_equal(np.asarray(Image.open(tmp_path / f"result-{number}.png")), pixels)


def test_colour_becomes_grey_and_a_camera_held_upright_stays_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.new("RGB", (8, 16), (255, 0, 0)).save(tmp_path / "a.jpg", exif=exif)
    cut, sheet = pictures.cut(tmp_path / "a.jpg", TILE, 30)
    assert (sheet.width, sheet.height) == (16, 8)
    assert 70 <= cut.mean() <= 80


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\x89PNG\r\n\x1a\n" + bytes(20)])
def test_what_is_no_picture_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(InvalidRequest, match=r"a\.png is not a picture"):
        pictures.cut(tmp_path / "a.png", TILE, 30)


def test_a_buffer_that_is_no_tile_takes_no_picture(tmp_path: Path) -> None:
    path, _ = written(tmp_path, 8, 8)
    for shape in ((8, 8, 3), (8, 8)):
        triangles = BufferInfo("triangles", "input", 64, np.dtype("u1"), shape, False)
        with pytest.raises(InvalidRequest, match="no pictures"):
            pictures.cut(path, triangles, 30)
