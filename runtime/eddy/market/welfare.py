# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What utilities are worth to all tenants together, [000] 3.4.3."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eddy.core.errors import InvalidRequest
from eddy.market.problem import Array


def _utilities(value: npt.ArrayLike) -> Array:
    found = np.asarray(value, dtype=np.float64)
    if found.ndim != 1 or not found.size or not (found >= 0).all() or not np.isfinite(found).all():
        raise InvalidRequest(
            "utilities must be one finite number of 0 or more for each of one or more tenants.",
            field="utilities",
            allowed="0 or more, and finite",
        )
    return found


def social(utilities: npt.ArrayLike) -> float:
    """The sum of utilities."""
    return float(_utilities(utilities).sum())


def egalitarian(utilities: npt.ArrayLike) -> float:
    """The least utility."""
    return float(_utilities(utilities).min())


def log_nash(utilities: npt.ArrayLike) -> float:
    """Logarithm of the product of utilities: orders as `nash` does, for any number of tenants; -inf where one is 0."""
    found = _utilities(utilities)
    return float(np.log(found).sum()) if found.min() > 0 else float("-inf")


def nash(utilities: npt.ArrayLike) -> float:
    """The product of utilities (Definition 3.4.6). Beyond double precision's range for many tenants: see `log_nash`."""
    return float(np.prod(_utilities(utilities)))
