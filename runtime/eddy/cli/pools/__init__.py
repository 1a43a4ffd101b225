# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands of a pool of boards, and its pictures.

Called by `main`."""
