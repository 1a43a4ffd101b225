# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Option pricing: Black-Scholes, and binomial trees after Cox, Ross and Rubinstein."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from eddy.gpu.launches.launch import Local
from eddy.gpu.workloads.base import KERNELS, Array, Step, Workload, floats
from eddy.gpu.workloads.basic import black_scholes

from eddy_studies.hsm.workloads.common import source


def european(options: int, *, seed: int = 1) -> Workload:
    """Prices by the closed formula; the kernel is the one of [000]'s workloads."""
    return replace(black_scholes(options, seed), name="BH", source=str(KERNELS / "black_scholes.cl"))


def binomial(options: int, steps: int, *, seed: int = 1) -> Workload:
    """European calls on trees of so many steps, a work-group each; the reference is in binary64."""
    rng = np.random.default_rng(seed)
    price, strike = floats(rng, options, low=5, high=30), floats(rng, options, low=4, high=30)
    years, rate, volatility = floats(rng, options, low=0.25, high=5), 0.06, 0.1
    value = _tree(price.astype("f8"), strike.astype("f8"), years.astype("f8"), steps, rate, volatility)
    tree = Local(4 * (steps + 1))
    arguments = ("price", "strike", "years", "value", rate, volatility, tree, tree)
    step = Step("binomial", (16 * options,), arguments, (16,))
    buffers = {"price": price, "strike": strike, "years": years, "value": np.zeros(options, np.float32)}
    defines, text = {"STEPS": steps}, f"{options} options, trees of {steps} steps"
    return Workload("BINO", source("options.cl"), "compute", (step,), buffers, {"value": value}, defines, 2e-3, text)


def _tree(price: Array, strike: Array, years: Array, steps: int, rate: float, volatility: float) -> Array:
    dt = years / steps
    move = volatility * np.sqrt(dt)
    up, down, growth = np.exp(move), np.exp(-move), np.exp(rate * dt)
    p = (growth - down) / (up - down)
    ends = np.arange(steps + 1)[:, None]
    call = np.maximum(price * np.exp(move * (2.0 * ends - steps)) - strike, 0)
    for _ in range(steps):
        call = (p * call[1:] + (1 - p) * call[:-1]) / growth
    return np.asarray(call[0])
