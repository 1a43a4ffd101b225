# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opencl_kit import Handle, Host

TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="package")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The platform in this process, its helper over the model of the instruction set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDDY_OPENCL_PYTHON", sys.executable)
        patch.setenv("EDDY_OPENCL_HELPER", "opencl_host")
        patch.setenv("EDDY_OPENCL_LOG", str(tmp_path_factory.mktemp("opencl") / "log"))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
        yield Host()


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
