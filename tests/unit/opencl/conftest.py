# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opencl_kit import Handle, Host

TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """The platform in this process, its helper over the model of the instruction set."""
    log = tmp_path_factory.mktemp("opencl") / "log"
    os.environ.update(
        EDDY_OPENCL_PYTHON=sys.executable,
        EDDY_OPENCL_HELPER="opencl_host",
        EDDY_OPENCL_LOG=str(log),
        PYTHONPATH=os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
    )
    return Host()


@pytest.fixture
def log(host: Host) -> Path:
    """The platform's log."""
    return Path(os.environ["EDDY_OPENCL_LOG"])


@pytest.fixture
def context(host: Host) -> Iterator[Handle]:
    """A context, released afterwards."""
    made = host.context()
    yield made
    host.call("clReleaseContext", made)


@pytest.fixture
def queue(host: Host, context: Handle) -> Iterator[Handle]:
    """A queue in order, with profiling."""
    made = host.queue(context, "PROFILING_ENABLE")
    yield made
    host.call("clReleaseCommandQueue", made)
