# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Leases: a slot, or a board, for a person, and what its holder does with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from eddy.client import answers
from eddy.client.calls.blob_calls import put_bytes
from eddy.client.transport.call_modes import Caller, call
from eddy.client.transport.operations import Operation
from eddy.client.transport.request_values import quote_segment
from eddy.core.errors import InvalidRequest
from eddy.core.slots import Image

_FIELDS = [field.name for field in dataclasses.fields(Image)]


def choose_image(files: Sequence[Path], slots: Collection[int]) -> tuple[dict[str, Any], Path]:
    """The manifest and the file that is for one of these slots.

    Args:
        files: `.bit` files; a manifest of the same name, `.json`, lies beside each.
        slots: That the lease holds.

    Raises:
        InvalidRequest: None is, or a manifest cannot be read.
    """
    from eddy.board.images.image_files import read_manifest

    there = []
    for file in files:
        manifest = read_manifest(file.with_suffix(".json"))
        if manifest.get("slot") in slots:
            return {name: manifest[name] for name in _FIELDS if name in manifest}, file
        there.append(str(manifest.get("slot")))
    mine, built = ", ".join(map(str, slots)) or "none", ", ".join(there) or "none"
    message = f"The lease holds slot {mine}; the files were built for slot {built}: give those of every slot."
    raise InvalidRequest(message, field="files", allowed=sorted(slots))


def read_image(file: Path) -> bytes:
    """The bytes of a `.bit` file.

    Raises:
        InvalidRequest: It cannot be read.
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror}", field="files") from None


TOKEN = "Eddy-Lease-Token"
ANSWER_S = 60.0
"""Wall seconds that an answer may take which waits for a load or an interrupt."""
MAX_WAIT_S = 30.0


class LeaseCalls(Caller):
    """The part of a client that holds slots."""

    @call
    def ask_for_lease(
        self,
        *,
        lasts_s: float = 1800.0,
        module: str = "",
        memory_bytes: int | None = None,
        kind: str = "slot",
    ) -> Operation[answers.Lease]:
        """Ask for a slot to hold, or for the board (operators); answers the lease, which may wait in a queue.

        Args:
            lasts_s: Wall seconds that it lasts, from its beginning.
            module: What its slot is loaded with at first; "" for nothing.
            memory_bytes: Board memory for your buffers; None for 16 MiB, or half of what one tenant may have.
            kind: ``"slot"`` or ``"board"``.

        Raises:
            InvalidRequest: No slot can be loaded with that module.
            QuotaExceeded: You have as many leases as you may, or none of yours may last so long.
        """
        body = {"kind": kind, "lasts_s": lasts_s, "module": module, "memory_bytes": memory_bytes}
        return self.transport.read_answer(answers.Lease, "POST", "/v1/leases", body=body, retries=0)

    @call
    def leases(self, *, tenant: str = "", open_only: bool = False) -> Operation[list[answers.Lease]]:
        """Your leases, oldest first, those that ended lately among them; a tenant's, or everyone's, for operators."""
        params = {"tenant": tenant, "open": "true" if open_only else "false"}
        found = yield from self.transport.read_answer(answers.LeaseList, "GET", "/v1/leases", params=params)
        return found["leases"]

    @call
    def lease(self, name: str, *, wait_s: float = 0.0) -> Operation[answers.Lease]:
        """A lease; with `wait_s` (at most 30), once its slot can be driven, or it has ended.

        Raises:
            NotFound: There is none of that name.
        """
        return self.transport.read_answer(
            answers.Lease, "GET", _path(name), params={"wait_s": wait_s} if wait_s else {}, answer_s=ANSWER_S
        )

    @call
    def lease_calendar(self) -> Operation[answers.LeaseCalendar]:
        """When slots are held, and asked for; of others, the times alone."""
        return self.transport.read_answer(answers.LeaseCalendar, "GET", "/v1/lease-calendar")

    @call
    def extend_lease(self, name: str, more_s: float) -> Operation[answers.Lease]:
        """Have a lease last longer.

        Raises:
            QuotaExceeded: It would last longer than it may.
            Conflict: It is about to end.
        """
        body = {"more_s": more_s}
        return self.transport.read_answer(answers.Lease, "POST", _path(name, "extend"), body=body, retries=0)

    @call
    def release_lease(self, name: str) -> Operation[answers.Lease]:
        """End a lease: its slot is closed, and given to others."""
        return self.transport.read_answer(answers.Lease, "DELETE", _path(name), answer_s=ANSWER_S)

    @call
    def load_leased(self, name: str, token: str, module: str, *, slot: int | None = None) -> Operation[answers.Lease]:
        """Load a slot of a lease with a module, by its name; answers once that has ended, or after 30 seconds.

        Raises:
            InvalidRequest: The slot cannot be loaded with it.
            Conflict: It is being loaded, or the lease is not active.
        """
        return self.transport.read_answer(
            answers.Lease,
            "POST",
            _path(name, "module"),
            body={"module": module, "slot": slot},
            headers={TOKEN: token},
            retries=0,
            answer_s=ANSWER_S,
        )

    @call
    def load_own_image(self, name: str, token: str, files: Sequence[str | Path]) -> Operation[answers.Lease]:
        """Load a slot of a lease with an image of your own; answers once that has ended, or after 30 seconds.

        Args:
            name: Of the lease.
            token: Of the lease.
            files: `.bit` files, each with its signed `.json` manifest beside it; the one that was built for the lease's
                slot is sent.

        Raises:
            InvalidRequest: No file is for a slot of the lease, or a file cannot be read.
            ImageRefused: It is not signed by a key that is trusted for you, or fails another check; says which.
            Conflict: The slot is being loaded, or the lease is not active.
        """
        lease = yield from self.transport.read_answer(answers.Lease, "GET", _path(name))
        manifest, file = choose_image([Path(each) for each in files], lease["slots"])
        yield from put_bytes(self.transport, read_image(file))
        return (
            yield from self.transport.read_answer(
                answers.Lease,
                "POST",
                _path(name, "image"),
                body={"manifest": manifest},
                headers={TOKEN: token},
                retries=0,
                answer_s=ANSWER_S,
            )
        )

    @call
    def access_registers(
        self, name: str, token: str, accesses: Sequence[tuple[int, int | None]] = (), *, slot: int | None = None
    ) -> Operation[answers.RegisterValues]:
        """Read and write registers of a lease's slot, in order; () only says that you are there.

        Args:
            name: Of the lease.
            token: Of the lease.
            accesses: Pairs of a byte offset in the module's window and the word to write; None reads it. At most 256.
            slot: Which; None for the lease's first one.

        Raises:
            InvalidRequest: An offset is not in the window.
            Conflict: The slot holds nothing that can be driven; says why.
            BoardFault: An access was not answered; the slot was closed.
        """
        body = {"accesses": [list(access) for access in accesses], "slot": slot}
        return self.transport.read_answer(
            answers.RegisterValues,
            "POST",
            _path(name, "registers"),
            body=body,
            headers={TOKEN: token},
            retries=0,
            answer_s=ANSWER_S,
        )

    @call
    def await_interrupt(
        self, name: str, token: str, *, slot: int | None = None, wait_s: float = MAX_WAIT_S
    ) -> Operation[bool]:
        """Wait for the next interrupt of a lease's slot, at most 30 seconds; answers whether it came.

        Raises:
            Conflict: The slot holds nothing that can be driven, or was closed meanwhile; says why.
        """
        found = yield from self.transport.read_answer(
            answers.InterruptAnswer,
            "POST",
            _path(name, "interrupt"),
            body={"slot": slot, "wait_s": wait_s},
            headers={TOKEN: token},
            retries=0,
            answer_s=ANSWER_S,
        )
        return found["rang"]

    @call
    def read_lease_memory(self, name: str, token: str, offset: int, size: int) -> Operation[bytes]:
        """Bytes of a lease's memory, at most 1 MiB, as modules left them."""
        params = {"offset": offset, "bytes": size}
        answer = yield from self.transport.send_request(
            "GET", _path(name, "memory"), params=params, headers={TOKEN: token}
        )
        return answer.content

    @call
    def write_lease_memory(self, name: str, token: str, offset: int, data: bytes) -> Operation[None]:
        """Put bytes, at most 1 MiB, into a lease's memory."""
        yield from self.transport.send_request(
            "PUT", _path(name, "memory"), params={"offset": offset}, content=data, headers={TOKEN: token}
        )


def _path(name: str, what: str = "") -> str:
    return f"/v1/leases/{quote_segment(name)}" + (f"/{what}" if what else "")
