# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A slot that is leased, as a PYNQ device on a machine elsewhere: registers, memory and interrupt over the network."""
