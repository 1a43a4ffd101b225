# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fabric behind a PYNQ overlay. Only this package uses the drivers."""

from eddy.board.overlay.control_bank import memory_bytes_per_cycle
from eddy.board.overlay.device_calls import KernelCalls
from eddy.board.overlay.fabric import OverlayFabric
from eddy.board.overlay.module_window import ClusterControl
from eddy.board.overlay.shell_clock import shell_time_s

__all__ = ["ClusterControl", "KernelCalls", "OverlayFabric", "memory_bytes_per_cycle", "shell_time_s"]
