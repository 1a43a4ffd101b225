# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Independent numpy references of the packaged applications, and the real data they run on."""
