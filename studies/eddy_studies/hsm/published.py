# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What [001] says, where ours is put beside it."""

from __future__ import annotations

ERRORS = {
    "hsm": "6.8 % mean, 30.3 % worst",
    "dase": "17.9 % mean, 75.3 % worst",
    "themis_nn": "33.8 % mean, 99.8 % worst",
}
"""Section 6.1."""
FAIRNESS = {"even": "52.7 %", "hsm_fair": "84.1 %", "dase_fair": "65.2 %", "themis_nn_fair": "61.9 %"}
"""Section 6.2: mean over all mixes."""
FAIRNESS_GAIN = "1.59 times"
QOS_MET = {"hsm_qos": "all", "proportional": "not all", "dase_qos": "not all", "themis_nn_qos": "not all"}
QOS_STP = "+18.9 % heterogeneous, +7.7 % all"
BW_APP = {"memory-bound": "+18.1 % (HSM-Fair +75 %)", "heterogeneous": "+5.3 % (HSM-Fair +55.5 %)"}
"""Section 6.4: fairness over even sharing."""
CONTROLLER = "mean errors within 2 %"
"""Section 6.5, figure 14: queue sizes and caps."""
TRAINING = "c1 and c2 vary by less than 0.2 %"
FOUR_FAIRNESS = "2.2 times"
