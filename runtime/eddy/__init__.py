"""Eddy: a hypervisor for FPGA SoCs."""

from eddy import moved

moved.install()
