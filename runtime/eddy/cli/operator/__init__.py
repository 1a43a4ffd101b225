# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands of an operator of a running server: tenants, audit, backup, packages, what changes while jobs run.

Called by `main`."""
