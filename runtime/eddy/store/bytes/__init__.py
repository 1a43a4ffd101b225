# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Blobs as files next to the data base: uploads, sizes, sweeps."""
