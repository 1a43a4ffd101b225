# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The life of a job as a Mermaid diagram, drawn from the transition table: `python -m eddy.hypervisor.jobs.diagram`."""

from __future__ import annotations

from eddy.core.jobs import TRANSITIONS, JobState


def state_diagram() -> str:
    """Mermaid source; states in the order of their definition."""
    order = list(JobState)
    lines = ["stateDiagram-v2", f"    [*] --> {order[0].value}"]
    for state in order:
        targets = sorted(TRANSITIONS[state], key=order.index)
        lines += [f"    {state.value} --> {target.value}" for target in targets]
        if state.is_final:
            lines.append(f"    {state.value} --> [*]")
    return "\n".join(lines)


if __name__ == "__main__":
    print(state_diagram())
