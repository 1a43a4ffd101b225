# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Checks of reconfigurable modules at the slot boundary, and the harness that module benches stand on."""
