# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hypervisor's machine as studies run it."""

from __future__ import annotations

from eddy.hypervisor.slots.residency import Residency, reload_always, reuse_when_idle

REUSING = Residency(may_give=reuse_when_idle)
"""A task that finds its module in a slot needs no load, as live; but it is given the slot only while the configuration
port is idle, so that configurations in a trace never overlap."""

RELOADING = Residency(given_back=reload_always, may_give=reuse_when_idle)
"""A task's image is loaded whenever it is given a slot. So the text of [004] has it (2.1.2): a selected task's
bitstream is read, then a reconfiguration is requested."""
