# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Published figures computed again, policies compared in virtual time, and policies to compare with."""
