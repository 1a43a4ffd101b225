# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The simulated board: RTL, memory and configuration port in one program, loads and faults.

Called by `device`, which PYNQ drives, and by tests."""
