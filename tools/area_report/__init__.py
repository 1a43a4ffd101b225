# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Area of the hardware: what is synthesized, how, and how it is told."""
