# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What each lever against the cost of reconfiguration is worth, alone and together."""
