# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the slots do, for people; and why jobs wait although nothing runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from eddy.board.port.port import BoardDescription
from eddy.core.records import SlotStatus
from eddy.hypervisor.jobs.slot import Phase
from eddy.hypervisor.machine.machine import Machine


def slot_statuses(description: BoardDescription, machine: Machine) -> tuple[SlotStatus, ...]:
    """What every slot does, for people; slots nobody decides about are named only."""
    found = []
    for slot in description.slots:
        known = machine.slots.get(slot.index)
        if known is None:
            found.append(SlotStatus(slot.index, slot.pool.value, slot.region))
            continue
        free = "faulted" if known.faulted else "idle" if known.module else "empty"
        phase = {Phase.FREE: free, Phase.HELD: "waiting"}.get(known.phase, known.phase.value)
        found.append(
            SlotStatus(
                slot=slot.index,
                pool=slot.pool.value,
                region=slot.region,
                module=known.module,
                tenant=known.holder if known.leased else known.tenant,
                job=known.job,
                task=known.task,
                item=known.item,
                phase=phase,
                since_s=known.since_s,
                lease=known.leased,
            )
        )
    return tuple(found)


def unreachable_slot_statuses(statuses: Iterable[SlotStatus], now_s: float) -> tuple[SlotStatus, ...]:
    """The slots of a board that does not answer: nobody knows what they do."""
    return tuple(
        SlotStatus(status.slot, status.pool, status.region, phase="unknown", since_s=now_s) for status in statuses
    )


def add_drain_reasons(statuses: Iterable[SlotStatus], drained: Mapping[int, str]) -> tuple[SlotStatus, ...]:
    """The same, each with why it is drained, or is to be in the next step."""
    return tuple(dataclasses.replace(each, drained=drained.get(each.slot, "")) for each in statuses)


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
