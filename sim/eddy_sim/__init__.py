# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The simulated board, behind stock PYNQ calls: `import eddy_sim.device`."""

from eddy import moved

moved.install()
