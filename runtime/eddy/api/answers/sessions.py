# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is answered about sessions and their programs, and how their records become that."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer, with_example
from eddy.core.frames import pack_frame
from eddy.core.sessions import OnPressure, SessionFigures, SessionRecord, SessionState
from eddy.gpu.programs.signature import Argument, Kernel
from eddy.hypervisor.engine.session_service import BatchAnswer
from eddy.hypervisor.sessions.launches import BuiltProgram, LaunchTarget


class SessionCluster(Answer):
    """A kind of cluster that launches of a session may run on."""

    module: str = Field(description="What it is called.")
    slots: int = Field(description="Clusters of the kind there may be at once.")
    cores: int = Field(description="Cores of one.")
    warps: int = Field(description="Warps of a core.")
    threads: int = Field(description="Lanes of a warp.")
    fpu: bool = Field(description="Whether cores have a floating-point unit.")
    local_bytes: int = Field(description="Local memory of a core.")


class Session(Answer):
    """A session."""

    model_config = with_example(examples.SESSION)

    session: str = Field(description="Its name, which is its token: who opened it finds it again by that.")
    tenant: str = Field(description="Whose it is.")
    state: SessionState = Field(description="Where it is in its life.")
    cause: str = Field(description='Why it ended; "" while it is open.')
    memory_bytes: int = Field(description="Board memory it has, or had.")
    idle_timeout_s: float = Field(description="Wall seconds without a command after which it is closed.")
    on_pressure: OnPressure = Field(description="What becomes of it when others wait for memory.")
    out_of_order: bool = Field(description="Whether `after` and barriers alone order its commands.")
    priority: int = Field(description="Of its tenant's own work, higher comes first.")
    lease_s: float | None = Field(
        description="Wall seconds without a batch, which may be empty, after which it is closed; null for never."
    )
    opened_unix_s: float = Field(description="When it was opened, in seconds since 1970.")
    ended_unix_s: float | None = Field(description="When it ended; null while it is open.")
    buffers: int = Field(description="Buffers it has.")
    buffer_bytes: int = Field(description="What they take of its memory.")
    queued: int = Field(description="Commands that were taken and have not begun.")
    running: int = Field(description="Launches that wait for cores or have some.")
    launches: int = Field(description="Launches that ended since the server started.")
    failures: int = Field(description="Commands that failed since the server started.")
    bytes_up: int = Field(description="Bytes that its writes brought over the network since the server started.")
    bytes_down: int = Field(description="Bytes that its reads took over the network since the server started.")
    bytes_kept: int = Field(description="Bytes of buffers that launches found on the board since the server started.")
    core_seconds: float = Field(description="What its launches had of cores since the server started.")
    idle_s: float = Field(description="Wall seconds since its last commands came.")
    clusters: list[SessionCluster] = Field(description="Kinds of clusters there are; empty once it has ended.")


class SessionList(Answer):
    """Sessions."""

    model_config = with_example({"sessions": [examples.SESSION]})

    sessions: list[Session] = Field(description="Oldest first.")


class ProgramArgument(Answer):
    """An argument of a kernel."""

    name: str = Field(description="As the source names it.")
    type: str = Field(description="As the source writes it.")
    space: str = Field(description="`value`, or where its pointer points to: `global`, `constant` or `local`.")
    bytes: int = Field(description="Its size among the arguments.")
    const: bool = Field(description="Whether a pointer's target is not written.")


class ProgramKernel(Answer):
    """A kernel of a program."""

    name: str = Field(description="As the source names it.")
    arguments: list[ProgramArgument] = Field(description="In order.")
    group_size: list[int] = Field(description="Work-group size the source requires; empty where it requires none.")
    stack_bytes: int = Field(description="Stack a work-item needs.")


class ProgramAnswer(Answer):
    """A program of a session."""

    model_config = with_example(examples.PROGRAM)

    program: str = Field(description="Names source and options: the same ones give the same program.")
    kernels: list[ProgramKernel] = Field(description="Its kernels.")
    local_bytes: int = Field(description="Local memory that its `__local` variables take.")
    log: str = Field(description="What the compiler said though it succeeded.")


def session_answer(
    record: SessionRecord, figures: SessionFigures | None, offers: Mapping[str, LaunchTarget]
) -> Session:
    """A session as it is shown; `figures` are None for one that is not open, `offers` what its launches may run on."""
    now, options = figures or SessionFigures(record.state), record.options
    return Session(
        session=record.id,
        tenant=record.tenant,
        state=now.state,
        cause=record.cause,
        memory_bytes=options.memory_bytes,
        idle_timeout_s=options.idle_timeout_s,
        lease_s=options.lease_s,
        on_pressure=options.on_pressure,
        out_of_order=options.out_of_order,
        priority=options.priority,
        opened_unix_s=record.opened_unix_s,
        ended_unix_s=record.ended_unix_s,
        buffers=now.buffers,
        buffer_bytes=now.buffer_bytes,
        queued=now.queued,
        running=now.running,
        launches=now.launches,
        failures=now.failures,
        bytes_up=now.bytes_up,
        bytes_down=now.bytes_down,
        bytes_kept=now.bytes_kept,
        core_seconds=now.core_s,
        idle_s=now.idle_s,
        clusters=[] if figures is None else [_cluster(module, offer) for module, offer in offers.items()],
    )


def _cluster(module: str, offer: LaunchTarget) -> SessionCluster:
    shape = offer.shape
    sizes = {"cores": shape.cores, "warps": shape.warps, "threads": shape.threads}
    return SessionCluster(module=module, slots=offer.slots, **sizes, fpu=shape.fpu, local_bytes=shape.local_bytes)


def program_answer(built: BuiltProgram) -> ProgramAnswer:
    """A program as it is shown."""
    kernels = [_kernel(each) for each in built.first.kernels.values()]
    return ProgramAnswer(
        program=built.id, kernels=kernels, local_bytes=built.first.local_bytes, log=built.first.warnings
    )


def _kernel(kernel: Kernel) -> ProgramKernel:
    arguments = [_argument(each) for each in kernel.arguments]
    size, stack = list(kernel.group_size), kernel.frame_bytes
    return ProgramKernel(name=kernel.name, arguments=arguments, group_size=size, stack_bytes=stack)


def _argument(argument: Argument) -> ProgramArgument:
    size, const = argument.size, argument.const
    return ProgramArgument(name=argument.name, type=argument.type, space=argument.space, bytes=size, const=const)


def batch_frame(answer: BatchAnswer) -> bytes:
    """What a session says, as it travels: of each result its serial number, the command's, code and message, board
    nanoseconds (queued, submitted, begun, ended), bytes read, and what was printed."""
    results = [
        [
            *(serial, each.number, each.code, each.message),
            [round(at_s * 1e9) for at_s in each.times_s],
            *(len(each.data), each.log),
        ]
        for serial, each in answer.results
    ]
    head = {
        **{"life": answer.life, "state": answer.state.value, "cause": answer.cause},
        **{"accepted": answer.accepted, "results": results, "running": answer.running},
    }
    return pack_frame(head, (each.data for _, each in answer.results))
