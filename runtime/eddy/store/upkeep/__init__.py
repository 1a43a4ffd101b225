# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The whole folder: opened, examined, copied and restored."""
