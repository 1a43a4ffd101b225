# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The parts of `tools/benches/service.py`: servers to measure, a reference beside them, clients that cost little."""
