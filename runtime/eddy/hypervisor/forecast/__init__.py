# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What will become of the queue: the policies that decide live, asked in virtual time about jobs as they stand now."""
