# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Prints what the client alone loads, and where it finds the hardware's sources."""

import json
import sys

import eddy.client
import eddy.host.distribution
import numpy as np

loaded = [name for name in ("fastapi", "pynq", "nats") if name in sys.modules]
tree = str(eddy.host.distribution.source_tree())
print(json.dumps({"client": eddy.client.__name__, "numpy": np.__version__, "tree": tree, "loaded": loaded}))
