# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The command `eddy`: a room for each kind of user."""
