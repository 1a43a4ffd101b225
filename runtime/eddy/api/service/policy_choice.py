# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The policies a server begins with: which there are, and what the price policy is told of tenants."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from eddy.api.dependencies.policy import PRICE, policy_in_force
from eddy.api.dependencies.progress import promised_progress, watch_for
from eddy.board.port.port import BoardPort
from eddy.board.port.profile import load_profile, profile_names
from eddy.hypervisor.cores import calibration
from eddy.hypervisor.cores.market_loop import PriceLoop, PriceSettings
from eddy.hypervisor.intake.core_partition import cluster_kinds
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch import POLICIES
from eddy.policy.price import POLICIES as PRICE_POLICIES
from eddy.store import Store

WHOLE = "whole"
"""Names no price policy: kernels get whole clusters."""


def check_policies(values: Mapping[str, Any]) -> None:
    """Refuse policies that do not exist.

    Args:
        values: `policy`, `gpu_policy` and `price` are looked at.

    Raises:
        InvalidRequest: Names the setting, and what it may be.
    """
    for name in ("policy", "gpu_policy"):
        POLICIES.make(values[name], name)
    if values["price"] != WHOLE:
        PRICE_POLICIES.make(values["price"], "price", (WHOLE,))


def price_loop(
    name: str,
    settings: PriceSettings,
    calibration_file: Path | None,
    data: Path,
    store: Store,
    modules: Mapping[str, ModuleManifest],
    board: BoardPort,
) -> PriceLoop | None:
    """What shares clusters; None where kernels get whole ones.

    Args:
        name: Of the policy, unless the operator has chosen another one since.
        calibration_file: Of the board's memory; None for the one in the data folder, if it is there.
        modules: Manifests by name.
        board: Whose clusters are shared.

    Raises:
        NotFound, InvalidRequest, Conflict: The policy goes by progress, and there is no calibration of this board.
    """
    name = policy_in_force(store, name, PRICE, PRICE_POLICIES)
    if name == WHOLE:
        return None
    policy, profile, kinds = PRICE_POLICIES.make(name), board.describe().profile, cluster_kinds(modules)
    path, needed = calibration_file or data / calibration.FILE, calibration_file is not None
    watch = watch_for(board, kinds, path, needed=needed or policy.traits.by_progress)
    named = load_profile(profile).configurations if profile in profile_names() else {}
    least = partial(promised_progress, store)
    return PriceLoop(policy, kinds, store.projects.weights, settings, named, watch, least)
