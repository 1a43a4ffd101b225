# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who may ask, and what they did: tenants and their projects, their keys, log-ins of browsers, usage by day, and
the audit chain. Of the other tables it knows none."""
