# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""OpenCL C workloads with references: those of [000] 5.1.1, and the kernels every GPU is measured with."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from eddy.gpu.workloads.base import StepRun, Workload, WrongResult, run, verify
from eddy.gpu.workloads.basic import black_scholes, divergent, reduction, saxpy, sgemm, transpose, vecadd
from eddy.gpu.workloads.learning import kmeans, mlp
from eddy.gpu.workloads.networks import alexnet, resnet50, yolo

WORKLOADS: Mapping[str, Callable[[], Workload]] = MappingProxyType(
    {
        **{"resnet50": resnet50, "yolo": yolo, "alexnet": alexnet, "k-means": kmeans, "mlp": mlp},
        **{"sgemm": sgemm, "sgemm_tiled": lambda: sgemm(tile=4), "black_scholes": black_scholes},
        **{"divergent": divergent, "vecadd": vecadd, "saxpy": saxpy, "reduction": reduction, "transpose": transpose},
    }
)
"""Every workload in a small size, by name."""

__all__ = ["WORKLOADS", "StepRun", "Workload", "WrongResult", "run", "verify"]
