# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An emulated arm64 system, and what is checked in it."""
