# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pictures and digits that come with scikit-learn, read from its files.

To import scikit-learn takes a second or more, most of it for SciPy's statistics; nothing of it is needed to read two
pictures and a table.
"""

from __future__ import annotations

import functools
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


def _folder() -> Path:
    """Where scikit-learn keeps its data.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    found = find_spec("sklearn")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
    return Path(found.submodule_search_locations[0]) / "datasets"


@functools.cache
def digits() -> tuple[Bytes, Bytes]:
    """Handwritten digits: pixels (1797, 64), 0 to 16, and what they are (1797,). Not to be written to.

    Source: UCI, Optical Recognition of Handwritten Digits, test set.
    """
    table = np.loadtxt(_folder() / "data" / "digits.csv.gz", delimiter=",", dtype=np.uint8)
    table.setflags(write=False)
    return table[:, :-1], table[:, -1]


def picture(name: str) -> Bytes:
    """A photograph, `china.jpg` or `flower.jpg`: (427, 640, 3)."""
    from PIL import Image

    with Image.open(_folder() / "images" / name) as image:
        return np.asarray(image)
