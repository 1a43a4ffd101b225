# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fifteen programs of [001] Table 2, written again after their published algorithms, with inputs from a seed.

`WORKLOADS` has them in the sizes of the study, by the table's abbreviations, memory-bound ones of [001] first; `SMALL`
in sizes for tests. Each has a reference in numpy, and `eddy.gpu.workloads.run` compares with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eddy.gpu.workloads.base import Workload

from eddy_studies.hsm.workloads.grids import diffusion, heat, paths, wavelet
from eddy_studies.hsm.workloads.meshes import boltzmann, clusters, euler
from eddy_studies.hsm.workloads.options import binomial, european
from eddy_studies.hsm.workloads.records import page_views
from eddy_studies.hsm.workloads.signals import conv3x3, magnetic, separable, walsh
from eddy_studies.hsm.workloads.textures import texture

Make = Callable[[int], Workload]

WORKLOADS: Mapping[str, Make] = {
    "PVC": lambda seed: page_views(1280, urls=40000, slot_bits=17, seed=seed),
    "LBM": lambda seed: boltzmann(16, 16, 8, seed=seed),
    "BH": lambda seed: european(4096, seed=seed),
    "DWT2D": lambda seed: wavelet(1280, 16, 2, seed=seed),
    "EULER3D": lambda seed: euler(512, 20000, seed=seed),
    "FWT": lambda seed: walsh(14, 10, seed=seed),
    "2DCONV": lambda seed: conv3x3(642, 50, seed=seed),
    "SC": lambda seed: clusters(4000, 16, 5, 2, seed=seed),
    "CONVS": lambda seed: separable(128, 64, seed=seed),
    "SRAD": lambda seed: diffusion(640, 10, seed=seed),
    "DXTC": lambda seed: texture(8, seed=seed),
    "HOTSPOT": lambda seed: heat(96, 96, 2, 1, seed=seed),
    "PF": lambda seed: paths(3072, 2, 8, seed=seed),
    "BINO": lambda seed: binomial(64, 64, seed=seed),
    "MRI-Q": lambda seed: magnetic(512, 48, seed=seed),
}
"""A pass of each takes a hundred thousand cycles or so on eight cores; streams exceed 64 KiB of shared cache."""
SMALL: Mapping[str, Make] = {
    "PVC": lambda seed: page_views(64, urls=40, slot_bits=7, seed=seed),
    "LBM": lambda seed: boltzmann(8, 4, 4, seed=seed),
    "BH": lambda seed: european(64, seed=seed),
    "DWT2D": lambda seed: wavelet(16, 8, 2, seed=seed),
    "EULER3D": lambda seed: euler(64, 96, seed=seed),
    "FWT": lambda seed: walsh(8, 6, seed=seed),
    "2DCONV": lambda seed: conv3x3(18, 10, seed=seed),
    "SC": lambda seed: clusters(64, 4, 3, 1, seed=seed),
    "CONVS": lambda seed: separable(64, 16, tile=16, seed=seed),
    "SRAD": lambda seed: diffusion(16, 8, seed=seed),
    "DXTC": lambda seed: texture(1, seed=seed),
    "HOTSPOT": lambda seed: heat(20, 20, 2, 1, seed=seed),
    "PF": lambda seed: paths(96, 1, 4, tile=64, seed=seed),
    "BINO": lambda seed: binomial(4, 16, seed=seed),
    "MRI-Q": lambda seed: magnetic(32, 4, seed=seed),
}
MEMORY_BOUND = ("PVC", "LBM", "BH", "DWT2D", "EULER3D", "FWT", "2DCONV", "SC", "CONVS", "SRAD")
"""As [001] classifies them on its GPU; on our cluster, what the RTL says counts (`eddy_studies.hsm.rtl_table`)."""
