# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hypervisor: the one loop that applies decisions and owns the job life cycle.

`machine` is the state machine, pure bookkeeping: events in, commands out. `engine` carries the commands out on a board
and a store. `loop` is the asynchronous shell around it, what `eddy serve` runs. `virtual` drives the same machine in
virtual time.
"""

from eddy.hypervisor.engine.loop import Hypervisor

__all__ = ["Hypervisor"]
