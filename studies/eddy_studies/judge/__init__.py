# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The `eddy` dispatch policy on trial against Nimblock [004]: recorded sequences, and seeds it was not tuned on."""
