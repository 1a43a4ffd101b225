# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head as a process (`eddy pool serve`): put together and served here. It also answers boards (`gate`), collects
outputs, keeps streams and counts."""
