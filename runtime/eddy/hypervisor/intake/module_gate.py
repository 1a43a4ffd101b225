# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which modules jobs may be given: those whose builds have a check on record, or get one while this runs."""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Iterable, Sequence

from eddy.board.port.port import BoardDescription
from eddy.core.slots import Image
from eddy.hypervisor.jobs.messages import AdmitModules
from eddy.hypervisor.jobs.work import JobKind
from eddy.hypervisor.machine.translate import board_offer, scrubbed_modules, unchecked_modules
from eddy.packages.checks import Standing


class ModuleGate:
    """Keeps from jobs what has no check on record, and looks at the records again when that would refuse one.

    Any thread may ask `refusal_reason`; the rest is called by the engine's.

    Args:
        everything: Whether jobs are given modules without a check, too.
    """

    def __init__(self, standing: Standing, everything: bool) -> None:
        self._standing, self._everything = standing, everything
        self._kinds: Sequence[JobKind] = ()
        self._images: tuple[Image, ...] = ()
        self._description: BoardDescription | None = None
        self._new: deque[AdmitModules] = deque()
        self._lock = threading.Lock()

    def offer_images(
        self, description: BoardDescription, images: Iterable[Image], kinds: Sequence[JobKind]
    ) -> tuple[Image, ...]:
        """Tell all kinds of jobs what the board has for them; answers the images they may be given."""
        with self._lock:
            self._description, self._kinds, self._images = description, kinds, tuple(images)
            self._new.clear()
            for module in unchecked_modules(self._images):
                self._look(module)
            return self._offer()

    @property
    def pending(self) -> bool:
        """Whether a module was let in that the machine does not know of."""
        return bool(self._new)

    def take_admitted(self) -> list[AdmitModules]:
        """What the machine is to be told, before what came since."""
        found = []
        while self._new:
            found.append(self._new.popleft())
        return found

    def refusal_reason(self, module: str) -> str:
        """Why no job is given a module; "" where its check is on record by now: it is let in then."""
        with self._lock:
            if module not in unchecked_modules(self._images):
                return ""
            refused = self._look(module)
            if not refused:
                images = [image for image in self._images if image.module == module]
                by_slot = {image.slot: image.sha256 for image in images}
                self._new.append(AdmitModules(module, by_slot, module in scrubbed_modules(images)))
                self._offer()
            return refused

    def _look(self, module: str) -> str:
        """Read a module's record; where it is of the builds there are, they count as checked."""
        builds = {image.build for image in self._images if image.module == module and not image.checked}
        refused = next((why for build in sorted(builds) if (why := self._standing(module, build))), "")
        if not refused:
            self._images = tuple(
                dataclasses.replace(image, checked_build=image.build) if image.module == module else image
                for image in self._images
            )
        return refused

    def _offer(self) -> tuple[Image, ...]:
        assert self._description is not None
        refused = () if self._everything else unchecked_modules(self._images)
        allowed = tuple(image for image in self._images if image.module not in refused)
        offer = board_offer(self._description, allowed, refused, self.refusal_reason)
        for kind in self._kinds:
            kind.set_offer(offer)
        return allowed
