# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands of `eddy` that the studies bring; each registers by an entry point of this distribution."""
