# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Models of speed: Amdahl's law on clusters ([000]) and slowdown from memory counters ([001])."""
