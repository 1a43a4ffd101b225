# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Training of the packaged LeNet: the network in floating point, and its way into 8-bit integers."""
