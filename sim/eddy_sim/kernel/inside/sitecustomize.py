# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Python imports this by itself when it starts on the faked kernel: the processor is the board's."""

import platform

platform.machine = lambda: "aarch64"
