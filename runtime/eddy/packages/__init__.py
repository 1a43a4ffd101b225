# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a board offers: applications and modules in packages, with their signatures and records of checks."""
