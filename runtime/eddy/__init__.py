# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Eddy: a hypervisor for FPGA SoCs."""

from eddy import moved

moved.install()
