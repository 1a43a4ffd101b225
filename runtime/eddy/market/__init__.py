# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The Fisher market of [000], chapter 3: prices at which everybody's best shares of the clusters add up to the
clusters.

`equilibrium` finds them; its result carries a certificate. `sharing_incentive`, `envy` and `pareto_efficiency` say
what the result promises tenants, `social`, `egalitarian` and `nash` what it is worth to all, and
`choose_configuration` which clusters the fabric should hold. No clock, no I/O; numpy, and where it
runs a compiled kernel of the same steps.
"""

from eddy.market.configuration import Candidate, Choice, choose_configuration
from eddy.market.fairness import entitlements, envy, pareto_efficiency, sharing_incentive
from eddy.market.problem import UTILITIES, Market
from eddy.market.result import Certificate, Equilibrium, History, certify
from eddy.market.solve import METHODS, equilibrium
from eddy.market.utility import sliced_utility
from eddy.market.welfare import egalitarian, log_nash, nash, social

__all__ = [
    "METHODS",
    "UTILITIES",
    "Candidate",
    "Certificate",
    "Choice",
    "Equilibrium",
    "History",
    "Market",
    "certify",
    "choose_configuration",
    "egalitarian",
    "entitlements",
    "envy",
    "equilibrium",
    "log_nash",
    "nash",
    "pareto_efficiency",
    "sharing_incentive",
    "sliced_utility",
    "social",
]
