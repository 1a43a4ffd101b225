# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Words that all packages share: jobs, applications, slots, tenants, records and errors. No input or output."""
