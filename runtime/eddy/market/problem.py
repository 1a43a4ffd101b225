# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is asked: a market's numbers, checked once and scaled so that the budgets sum to one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real

import numpy as np
import numpy.typing as npt

from eddy.core.errors import InvalidRequest
from eddy.market.compiled import CURVED, Scan, scan

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

UTILITIES = ("amdahl", "deliverable")


@dataclass(frozen=True)
class Market:
    """A Fisher market of n tenants and m clusters, checked.

    Attributes:
        fraction: Parallel fractions F, (n, m), in (0, 1].
        throughput: f over f_base, (n, m), at least 0; every tenant wants something.
        budgets: (n,), above 0, summing to 1.
        capacity: (m,), in PEs, above 0.
        utility: One of `UTILITIES`.
    """

    fraction: Array
    throughput: Array
    budgets: Array
    capacity: Array
    utility: str = "amdahl"


def array_of(value: npt.ArrayLike, name: str) -> Array:
    """The argument as floats; numpy alone would read text, dates and truth values as numbers, and drop an imaginary
    part or a mask.

    Raises:
        InvalidRequest: It is no array of real numbers; `details["field"]` is `name`.
    """
    try:
        found = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=object)
        if found.dtype.kind == "O":
            kinds = set(map(type, found.flat))
            real = bool not in kinds and all(issubclass(kind, (Real, Decimal)) for kind in kinds)
        else:
            real = found.dtype.kind in "iuf" and not isinstance(found, np.ma.MaskedArray)
        if real:
            floats = np.asarray(found, dtype=np.float64)
            return np.ascontiguousarray(floats) if floats.ndim else floats
    except (TypeError, ValueError, OverflowError):
        pass
    message = f"{name} must be an array of real numbers, rows of one length: no text, truth values, complex or masked."
    raise InvalidRequest(message, field=name, allowed="real numbers")


def _array(value: npt.ArrayLike, name: str, dimensions: int) -> Array:
    """The argument as floats of the right rank."""
    found = array_of(value, name)
    if found.ndim != dimensions:
        shape = "(tenants, clusters)" if dimensions == 2 else "one number each"
        raise InvalidRequest(
            f"{name} has shape {found.shape}; give an array of {dimensions} dimension(s), {shape}.",
            field=name,
            allowed=f"{dimensions} dimension(s)",
        )
    return found


def _bounded(found: Array, name: str, least: float, most: float, strict: bool, allowed: str) -> None:
    """Refuse what is not a number, not finite or out of range. NaN fails every comparison, so it ends here too."""
    low = float(found.min())
    if (low > least if strict else low >= least) and float(found.max()) <= most:
        return
    wrong = ~(((found > least) if strict else (found >= least)) & (found <= most))
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    where = ", ".join(map(str, place))
    value = float(found[place])
    raise InvalidRequest(f"{name}[{where}] is {value}; it must be {allowed}.", field=name, allowed=allowed)


_LEAST, _LARGEST = 1e-50, 1e100
"""No bounds of the science: what leaves room for squares and quotients in double precision."""


def number_of(value: object, field: str, strict: bool = True, finite: bool = True) -> float:
    """The number, if it is above 0 (`strict`) or not below, and finite where it must be.

    Raises:
        InvalidRequest: It is none; `details["field"]` is `field`.
    """
    try:
        real = isinstance(value, (Real, Decimal)) and not isinstance(value, bool)
        number = float(value) if real else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.nan
    if (number > 0 if strict else number >= 0) and (number < math.inf or not finite):
        return number
    allowed = ("above 0" if strict else "0 or more") + (", and finite" if finite else "")
    raise InvalidRequest(f"{field} is {value!r}; it must be a number {allowed}.", field=field, allowed=allowed)


def name_of(value: str, field: str, allowed: tuple[str, ...]) -> str:
    """The name, if it is one of those allowed."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(allowed)
        raise InvalidRequest(f"{field} is {value!r}; it must be one of {names}.", field=field, allowed=names)
    return value


def check_market(
    parallel_fraction: npt.ArrayLike,
    throughput: npt.ArrayLike,
    weights: npt.ArrayLike,
    capacity: npt.ArrayLike,
    utility: str = "amdahl",
) -> Market:
    """The market these numbers describe; see `examine_market`."""
    return examine_market(parallel_fraction, throughput, weights, capacity, utility)[0]


def examine_market(
    parallel_fraction: npt.ArrayLike,
    throughput: npt.ArrayLike,
    weights: npt.ArrayLike,
    capacity: npt.ArrayLike,
    utility: str = "amdahl",
) -> tuple[Market, Scan]:
    """The market these numbers describe, and what was seen of it on the way.

    Raises:
        InvalidRequest: An argument is refused; `details["field"]` names it.
    """
    name_of(utility, "utility", UTILITIES)
    fraction = _array(parallel_fraction, "parallel_fraction", 2)
    speed = _array(throughput, "throughput", 2)
    shares = _array(weights, "weights", 1)
    pes = _array(capacity, "capacity", 1)
    _check_shapes(fraction, speed, shares, pes)
    seen = scan(fraction, speed) or _looked_at(fraction, speed)
    _bounded(shares, "weights", _LEAST, _LARGEST, False, "above 0, from 1e-50 to 1e100")
    _bounded(pes, "capacity", _LEAST, _LARGEST, False, "above 0 PEs, from 1e-50 to 1e100")
    return Market(fraction, speed, shares / shares.sum(), pes, utility), seen


def _looked_at(fraction: Array, speed: Array) -> Scan:
    """What `scan` tells, in numpy; refuses what is out of range, with a sentence that says what and where."""
    _bounded(fraction, "parallel_fraction", 0.0, 1.0, True, "above 0 and at most 1")
    _bounded(speed, "throughput", 0.0, _LARGEST, False, "0 or more, up to 1e100")
    best = speed.max(axis=1)
    if not best.min() > 0:
        idle = int(np.argmin(best))
        raise InvalidRequest(
            f"throughput[{idle}] is 0 on every cluster, so tenant {idle} wants nothing: leave it out of the market.",
            field="throughput",
            allowed="above 0 on one cluster or more, for every tenant",
        )
    return Scan(speed.any(axis=0), bool(fraction.max() > CURVED))


def _check_shapes(fraction: Array, speed: Array, weights: Array, capacity: Array) -> None:
    """Refuse a market of nobody or of nothing, and shapes that differ; named is the one that differs from the rest."""
    sizes, shape = {"weights": len(weights), "capacity": len(capacity)}, (len(weights), len(capacity))
    for name, size in sizes.items():
        if not size:
            raise InvalidRequest(f"{name} is empty: a market needs one or more.", field=name, allowed="one or more")
    if fraction.shape == speed.shape:
        for (name, size), asked, what in zip(sizes.items(), fraction.shape, ("tenant", "cluster"), strict=True):
            if size != asked:
                raise InvalidRequest(
                    f"{name} has shape ({size},); parallel_fraction and throughput have shape {fraction.shape} and ask "
                    f"for ({asked},): one number for every {what}.",
                    field=name,
                    allowed=f"({asked},)",
                )
    for name, found in (("parallel_fraction", fraction), ("throughput", speed)):
        if found.shape != shape:
            raise InvalidRequest(
                f"{name} has shape {found.shape}; weights and capacity ask for {shape}: a row for every tenant, "
                "a column for every cluster.",
                field=name,
                allowed=str(shape),
            )
