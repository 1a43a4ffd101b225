# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bitstreams: files, packages, signatures, compression, and which of them are in memory. Used by every implementation
of the port."""
