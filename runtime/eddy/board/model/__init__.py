# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The board in virtual time: no RTL and no hardware, latencies as they are told. For tests, studies and forecasts."""
