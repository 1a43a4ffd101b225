# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy top`: the board at a glance, in a terminal."""
