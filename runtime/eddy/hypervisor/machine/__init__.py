# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pure state machine: events and requests go in, decisions and commands come out, and no clock is read. Called by
the engine, by forecasts and in virtual time."""
