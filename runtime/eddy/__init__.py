"""Eddy: a hypervisor for FPGA SoCs."""
