# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Train the packaged LeNet on scikit-learn's handwritten digits, write its weights, and print how well it reads.

tools/train_lenet.py              train (about a minute), write bitstreams/applications/lenet/*.bin, print JSON
tools/train_lenet.py --check      print the accuracy of the weights that are there; trains nothing

The first 1408 digits train, the other 389 are held out. The seed fixes the result on one machine; another build of the
linear algebra may round otherwise and end with other weights, so the weights are kept beside the package.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy_sim.reference import lenet
from lenet_training.descent import train
from lenet_training.integers import quantise

SEED = 4
LARGEST = 16 * lenet.BRIGHTNESS


def main() -> int:
    """Train or check; exit 1 where the shifts found are not those that the reference and the package state."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only measure the weights that are there")
    report = {} if parser.parse_args().check else retrain()
    print(json.dumps(report | {"integers": measured()}))
    if report.get("shifts", lenet.SHIFTS) != lenet.SHIFTS:
        print(
            f"the shifts are {report['shifts']}: write them into eddy_sim.reference.lenet and lenet.yaml",
            file=sys.stderr,
        )
        return 1
    return 0


def retrain() -> dict[str, Any]:
    """Train, write the constants, and give the accuracy in floating point and the shifts."""
    images, truth = lenet.training()
    scaled = images.astype(np.float32) / LARGEST
    network = train(scaled, truth, SEED)
    found = quantise(network, scaled, 1 / LARGEST)
    lenet.PACKAGE.mkdir(parents=True, exist_ok=True)
    for name, data in found.constants.items():
        data.tofile(lenet.PACKAGE / f"{name}.bin")
    unseen, answers = lenet.held_out()
    accuracy = {
        "training": share(network.forward(scaled)[-1].argmax(axis=1), truth),
        "held_out": share(network.forward(unseen.astype(np.float32) / LARGEST)[-1].argmax(axis=1), answers),
    }
    return {"seed": SEED, "shifts": found.shifts, "floating_point": accuracy}


def measured() -> dict[str, float]:
    """The accuracy of the packaged weights in 8-bit integers."""
    given = lenet.constants()
    result = {}
    for name, (images, truth) in {"training": lenet.training(), "held_out": lenet.held_out()}.items():
        result[name] = share(
            np.array([lenet.recognised(lenet.forward(image, given)["result"]) for image in images]), truth
        )
    return result


def share(answers: npt.NDArray[np.int64], truth: npt.NDArray[np.int64]) -> float:
    """How many are right, of one."""
    return float(np.mean(answers == truth))


if __name__ == "__main__":
    raise SystemExit(main())
