# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pictures that explain, drawn from one source."""
