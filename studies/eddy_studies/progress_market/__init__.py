# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What measured progress changes for the market: two clusters, kernels that their memories slow down."""
