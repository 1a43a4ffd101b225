# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The board's own: windows in which slots are closed, sessions and leases that tenants hold, epochs of the market, and
what the board did, by minutes. Few rows; of the other tables it knows none."""
