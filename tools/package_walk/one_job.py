# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Has a server of EDDY_URL and EDDY_KEY run one application job, and prints the shape of its output."""

import numpy as np
from eddy.client import Client

with Client() as client:
    tiles = np.random.default_rng(1).integers(0, 256, (3, 128, 128), dtype=np.uint8)
    job = client.submit("image_compression", {"image": tiles}).wait()
    print(job.outputs["result"].shape)
