# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What handles on jobs and kernels need of the client that made them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from eddy.client import answers
from eddy.client.transport.transport import Transport

if TYPE_CHECKING:
    from eddy.client.transport.arrays import Array


class Session(Protocol):
    """A client, as its handles see it; errors are those of `eddy.client.Client`."""

    transport: Transport
    submit_timeout_s: float

    def show(self, job: int, *, wait_s: float = 0.0, while_state: str | None = None) -> answers.Job:
        """The job object."""

    def cancel(self, job: int, *, wait_s: float = 0.0) -> answers.Job:
        """Ask for a job's end; answers the job object."""

    def output_bytes(self, job: int, name: str) -> bytes:
        """An output of all items, end to end."""

    def outputs(self, job: int) -> dict[str, Array]:
        """Every output of a job."""

    def log(self, job: int) -> str:
        """What a kernel job printed."""

    def overview(self) -> answers.Overview:
        """The board at a glance."""

    def jobs(self, *, array: int | None = None, sort: str | None = None) -> Sequence[answers.Job]:
        """Jobs, of an array only where it is named."""

    def show_array(self, array: int) -> answers.Array:
        """The array object."""

    def cancel_array(self, array: int) -> answers.Array:
        """Ask for the end of an array's jobs; answers the array object."""
