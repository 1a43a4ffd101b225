# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The data of the demonstration are scikit-learn's, read without it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from eddy_sim.reference import datasets


def test_digits_are_those_of_scikit_learn() -> None:
    from sklearn.datasets import load_digits  # takes seconds to import, which every collection of tests would wait for

    pixels, truth = datasets.digits()
    theirs = load_digits()
    assert pixels.dtype == truth.dtype == np.dtype(np.uint8)
    assert np.array_equal(pixels, theirs.data)
    assert np.array_equal(truth, theirs.target)


@pytest.mark.parametrize("name", ["china.jpg", "flower.jpg"])
def test_pictures_are_those_of_scikit_learn(name: str) -> None:
    from sklearn.datasets import load_sample_image

    ours, theirs = datasets.picture(name), load_sample_image(name)
    assert ours.dtype == theirs.dtype
    assert np.array_equal(ours, theirs)


def test_what_the_demonstration_submits_needs_no_scikit_learn() -> None:
    code = "import sys; from eddy.cli.demo.demo_plan import orders; orders(); print('sklearn' in sys.modules, end='')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False"
