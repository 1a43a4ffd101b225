# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Why jobs wait although nothing runs."""

from __future__ import annotations

from eddy.hypervisor.machine.machine import Machine


def stall(machine: Machine) -> str:
    """Why no job gets a slot although nothing runs: drained slots, with what brings them back, or the policies."""
    said = []
    for name in sorted({job.spec.pool for job in machine.jobs.values()}, key=lambda pool: pool.value):
        pool = machine.state.pools.get(name)
        if pool is None:
            slots, who = [slot.index for slot in machine.clusters.slots] if machine.clusters else [], "the price policy"
        else:
            slots, who = list(pool.slots), f"the policy {pool.policy.name}"
        drained = [index for index in slots if machine.slots[index].drained]
        leased = [index for index in slots if machine.slots[index].leased]
        if leased and {*drained, *leased} == {*slots}:
            said.append(f"slots {', '.join(map(str, leased))} of pool {name.value} are leased (`eddy leases`)")
        elif slots and len(drained) == len(slots):
            because, again = machine.slots[drained[0]].drained, f"`eddy undrain {drained[0]}` brings one back"
            said.append(f"every slot of pool {name.value} is drained ({because}); {again}")
        else:
            beside = f", and slots {', '.join(map(str, drained))} are drained" if drained else ""
            said.append(f"{who} gives jobs of pool {name.value} none{beside}")
    return "; ".join(said)
