# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which buffers of an application can go from slot to slot instead of through memory."""

from __future__ import annotations

from collections.abc import Mapping

from eddy.core.applications import RETURNED, Application, BufferRole, StreamedEdge
from eddy.core.slots import Access
from eddy.packages.modules import ModuleManifest


def streamed_edges(application: Application, modules: Mapping[str, ModuleManifest]) -> tuple[StreamedEdge, ...]:
    """Edges whose buffer one task writes and one reads, both once and in order, and nobody else has to do with.

    A slot has one end of each kind: of several edges from a task, or to one, none is streamed.
    """
    found: list[StreamedEdge] = []
    for buffer in application.buffers:
        if buffer.role is not BufferRole.INTERMEDIATE or buffer.bytes % 8:
            continue
        users = [  # in order of tasks, which is a topological one: the writer comes first
            (task.id, modules[task.module].register(name))
            for task in application.tasks
            for name, value in task.arguments
            if value == buffer.name
        ]
        if len(users) == 2 and all(register.streamed for _, register in users):
            (first, writes), (second, reads) = users
            edge = StreamedEdge(first, second, buffer.name)
            if writes.access is Access.WRITE and reads.access is Access.READ and not _shares_more(application, edge):
                found.append(edge)
    before, after = [edge.before for edge in found], [edge.after for edge in found]
    return tuple(edge for edge in found if before.count(edge.before) == 1 and after.count(edge.after) == 1)


def _shares_more(application: Application, edge: StreamedEdge) -> bool:
    """Whether the reader may need something else of the writer's before it starts, such as a length."""
    changed = (BufferRole.INTERMEDIATE, *RETURNED)
    left = {each.name for each in application.buffers if each.role in changed}
    ends = [{value for _, value in application.tasks[task].arguments} for task in (edge.before, edge.after)]
    return bool((ends[0] & ends[1] & left) - {edge.buffer})
