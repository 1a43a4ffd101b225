# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The dashboard: pages that people open in a browser."""
