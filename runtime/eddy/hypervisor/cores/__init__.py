# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Cores of GPU clusters between tenants: epochs, prices, progress, estimates and accounts. Values and sums over
values; of the other rooms it knows `jobs` alone."""
