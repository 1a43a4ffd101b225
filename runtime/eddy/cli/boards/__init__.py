# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands at a board: serve, install, examine, test and calibrate it, and check modules and programs for it.

Called by `main`."""
