# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The port over a socket, and the privileged process behind it (`boardd`), with its notary of the audit chain."""
