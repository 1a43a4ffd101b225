# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""[004] in virtual time: sequences of events against a board of slots, under any dispatch policy."""
