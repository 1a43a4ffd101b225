# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One batch to place: jobs, hosts, times, sizes, bandwidths ([002] sections 3.1 to 3.3), and what a placement is.

A column of `time_s` is an *accelerator*: one thing that computes one job at a time. Where a host carries several
([002] 3.5), `host_of` says which host's network port an accelerator hangs on; without it each is its own host. A job
whose time is 0 passes through its host as it is sent, and keeps no accelerator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from eddy.core.errors import InvalidRequest

Floats = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Kind = Literal["computation", "network", "joint"]

ARRAYS = ("time_s", "size_bits", "requester", "egress_bps", "ingress_bps", "host_of", "ready_s", "busy")
"""Names of an instance's arrays, in JSON and as `.npy` files."""

NETWORK = ("size_bits", "requester", "egress_bps", "ingress_bps", "busy")
"""Those only the network needs."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A batch and the pool that is to run it; all jobs arrive at time 0.

    Attributes:
        time_s: (jobs, accelerators), seconds of computation; infinite where the job cannot run. Zeros where only the
            network counts.
        size_bits: (jobs,) bits each job sends to its host, or None where the network does not count.
        requester: (jobs,) which requester sends the job, or None.
        egress_bps: (requesters,) what a requester can send in total, or None.
        ingress_bps: (hosts,) what a host can receive in total, or None.
        host_of: (accelerators,) the host an accelerator sits in.
        ready_s: (accelerators,) when earlier work ends ([002] 3.4, c_j); zeros for an empty system.
        busy: (n, 5) what earlier batches still send: requester, host, from, to (seconds), bits per second.
    """

    time_s: Floats
    size_bits: Floats | None = None
    requester: Ints | None = None
    egress_bps: Floats | None = None
    ingress_bps: Floats | None = None
    host_of: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    ready_s: Floats = field(default_factory=lambda: np.zeros(0))
    busy: Floats = field(default_factory=lambda: np.zeros((0, 5)))

    def __post_init__(self) -> None:
        accelerators = self.time_s.shape[1] if self.time_s.ndim == 2 else 0
        if not len(self.host_of):
            object.__setattr__(self, "host_of", np.arange(accelerators))
        if not len(self.ready_s):
            object.__setattr__(self, "ready_s", np.zeros(accelerators))
        _check(self)

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return int(self.time_s.shape[0])

    @property
    def accelerators(self) -> int:
        """Number of accelerators."""
        return int(self.time_s.shape[1])

    @property
    def kind(self) -> Kind:
        """What counts: computation, the network, or both."""
        if self.size_bits is None:
            return "computation"
        return "joint" if bool(self.time_s.any()) else "network"

    def without_network(self) -> Instance:
        """The same batch where sending costs nothing."""
        none = np.zeros((0, 5))
        return replace(self, size_bits=None, requester=None, egress_bps=None, ingress_bps=None, busy=none)

    def without_computation(self) -> Instance:
        """The same batch where computing takes no time."""
        return replace(self, time_s=np.zeros_like(self.time_s)) if self.time_s.any() else self


@dataclass(frozen=True, slots=True)
class Rate:
    """`job` is sent at `bps` from `from_s` to `to_s`."""

    job: int
    from_s: float
    to_s: float
    bps: float


@dataclass(frozen=True, slots=True)
class Placement:
    """Which accelerator runs each job, and when.

    Attributes:
        host: (jobs,) accelerator (column of `time_s`) of each job.
        start_s: (jobs,) when its computation begins.
        makespan_s: When the last job of the batch ends.
        lower_bound_s: No placement of this batch ends earlier.
        rates: What is sent when; empty where the network does not count.
        method: The policy that made it.
    """

    host: Ints
    start_s: Floats
    makespan_s: float
    lower_bound_s: float
    rates: tuple[Rate, ...] = ()
    method: str = ""


def instance_from(raw: Mapping[str, Any]) -> Instance:
    """An instance from arrays or nested lists by the names of `ARRAYS`; what a method does not need may be absent.

    Without `time_s` computation takes no time, and there is one accelerator for every host of `ingress_bps`. Without
    `requester` and `egress_bps` senders are no bottleneck; without `ingress_bps` too, sizes do not count.

    Raises:
        InvalidRequest: a name is unknown, an array has the wrong shape, or a value makes no sense.
    """
    unknown = sorted(set(raw) - set(ARRAYS))
    if unknown:
        raise InvalidRequest(f"There is no array {unknown[0]!r} in an instance.", field=unknown[0], allowed=ARRAYS)
    floats = {name: _floats(name, raw[name]) for name in ARRAYS if name in raw}
    time_s = floats.get("time_s")
    if time_s is None:
        if "size_bits" not in raw or "ingress_bps" not in raw:
            raise InvalidRequest("An instance needs time_s, or size_bits and ingress_bps.", field="time_s")
        columns = len(raw.get("host_of", floats["ingress_bps"]))
        time_s = np.zeros((len(floats["size_bits"]), columns))
    _fill_in(floats)
    return Instance(
        time_s=time_s,
        size_bits=floats.get("size_bits"),
        requester=_indices("requester", floats),
        egress_bps=floats.get("egress_bps"),
        ingress_bps=floats.get("ingress_bps"),
        host_of=_indices("host_of", floats) if "host_of" in raw else np.zeros(0, np.int64),  # type: ignore[arg-type]
        ready_s=floats.get("ready_s", np.zeros(0)),
        busy=floats["busy"] if "busy" in floats and floats["busy"].size else np.zeros((0, 5)),
    )


def _fill_in(floats: dict[str, Floats]) -> None:
    """What may be left out of the network: all of it; who sends, where it is one; the senders, where none is slow."""
    given = {name for name in ("size_bits", "requester", "egress_bps", "ingress_bps") if name in floats}
    size, ingress = floats.get("size_bits"), floats.get("ingress_bps")
    if given == {"size_bits"}:
        del floats["size_bits"]
    elif size is not None and ingress is not None and ingress.size:
        if given == {"size_bits", "ingress_bps"}:
            # Everybody sends alone, and faster than any host receives.
            floats["requester"] = np.arange(size.size, dtype=np.float64)
            floats["egress_bps"] = np.full(max(size.size, 1), ingress.max())
        elif "requester" not in given and floats["egress_bps"].shape == (1,):
            floats["requester"] = np.zeros(size.size)


def _floats(name: str, value: Any) -> Floats:
    try:
        array = np.asarray(value)
        return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"{name} is not an array of numbers.", field=name) from None


def _indices(name: str, floats: Mapping[str, Floats]) -> Ints | None:
    array = floats.get(name)
    if array is None:
        return None
    if not (np.abs(array) < 2**53).all() or (array % 1).any():  # NaN is not below anything
        raise InvalidRequest(f"{name} holds indices, whole numbers from 0.", field=name)
    return array.astype(np.int64)


def _check(it: Instance) -> None:
    if it.time_s.ndim != 2 or 0 in it.time_s.shape:
        raise InvalidRequest("time_s is a table with a row for each job and a column for each host.", field="time_s")
    least = it.time_s.min(axis=1)  # NaN if there is one; a large table is read once and nothing is allocated
    if not float(least.min()) >= 0:
        raise InvalidRequest("Times are not negative, and not NaN.", field="time_s")
    if not np.isfinite(least).all():
        raise InvalidRequest(
            f"Job {int(np.isfinite(least).argmin())} has no host that can run it: its times are all infinite.",
            field="time_s",
        )
    jobs, accelerators = it.time_s.shape
    _shape("host_of", it.host_of, accelerators)
    _shape("ready_s", it.ready_s, accelerators)
    _range("ready_s", it.ready_s, lowest=0)
    network = (it.size_bits, it.requester, it.egress_bps, it.ingress_bps)
    if all(part is None for part in network):
        _shape("busy", it.busy, 0, 5)
        return
    size, requester, egress, ingress = network
    if size is None or requester is None or egress is None or ingress is None:
        raise InvalidRequest(
            "size_bits, requester, egress_bps and ingress_bps go together: give all four, or none "
            "(or sizes and ingress_bps alone, where senders are no bottleneck).",
            field="size_bits",
        )
    _shape("size_bits", size, jobs)
    _shape("requester", requester, jobs)
    _range("size_bits", size, lowest=0)
    for name, array in (("egress_bps", egress), ("ingress_bps", ingress)):
        if array.ndim != 1 or not len(array) or not (np.isfinite(array).all() and (array > 0).all()):
            raise InvalidRequest(f"{name} is a list of positive rates.", field=name)
    _range("requester", requester, lowest=0, highest=len(egress) - 1)
    _range("host_of", it.host_of, lowest=0, highest=len(ingress) - 1)
    _shape("busy", it.busy, len(it.busy), 5)
    _range("busy", it.busy, lowest=0)
    _range("busy", it.busy[:, 0], lowest=0, highest=len(egress) - 1)
    _range("busy", it.busy[:, 1], lowest=0, highest=len(ingress) - 1)


def _shape(name: str, array: Floats, *shape: int) -> None:
    if array.shape != shape:
        raise InvalidRequest(f"{name} has shape {array.shape}, not {shape}.", field=name, allowed=list(shape))


def _range(name: str, array: Floats, lowest: float, highest: float = np.inf) -> None:
    if not (np.isfinite(array).all() and (array >= lowest).all() and (array <= highest).all()):
        top = "" if highest == np.inf else f" and at most {highest:g}"
        raise InvalidRequest(f"{name} holds finite numbers, at least {lowest:g}{top}.", field=name)


def as_document(placement: Placement) -> dict[str, Any]:
    """What `eddy place --json` prints."""
    rates: Sequence[Rate] = placement.rates
    return {
        "method": placement.method,
        "host": placement.host.tolist(),
        "start_s": placement.start_s.tolist(),
        "makespan_s": placement.makespan_s,
        "lower_bound_s": placement.lower_bound_s,
        "rates": [{"job": r.job, "from_s": r.from_s, "to_s": r.to_s, "bps": r.bps} for r in rates],
    }
