# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""From a bitstream file to the Verilated model behind it, and what is checked on the way.

What a board's configuration logic checks is checked here, and what goes wrong is an `OSError`, as when the kernel's
FPGA manager refuses a file.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eddy.board.port.port import Preparation
from eddy.board.port.profile import Profile
from eddy.core.errors import ConfigurationFailed, EddyError, InvalidRequest
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleManifest

from eddy_sim.boards.faults import LoadFault
from eddy_sim.boards.image_sink import ArrivedImage, ArrivingImage
from eddy_sim.design import bitfile, build
from eddy_sim.design.model_builder import ModelBuilder


class LoadRefused(ConfigurationFailed, OSError):
    """A bitstream did not load.

    Args:
        number: What `errno` would be on a board.
        message: What is wrong and what to do.
    """

    def __init__(self, number: int, message: str, **details: Any) -> None:
        super().__init__(message, cause="configuration-error", **details)
        self.errno, self.strerror = number, message


def read_image(path: Path, profile: Profile) -> tuple[bitfile.Identity, bytes]:
    """Identity and payload of a `.bit` file for a board.

    Raises:
        LoadRefused: It is no bitstream, or one for another part or another shell.
    """
    try:
        head, body = bitfile.read_bit(path)
        identity = bitfile.identity_of(body)
    except InvalidRequest as error:
        raise LoadRefused(errno.EINVAL, f"{path.name}: {error.message}") from error
    if head.part != profile.part:
        raise _of_another_part(path.name, head.part, profile)
    check_identity(identity, profile, path.name)
    return identity, body


def check_identity(identity: bitfile.Identity, profile: Profile, name: str) -> None:
    """Check that an image is for a board.

    Raises:
        LoadRefused: It is for another part or another shell.
    """
    if identity.part != profile.part:
        raise _of_another_part(name, identity.part, profile)
    shell = f"{build.shell_build_hash(build.ShellShape.of(profile)):016x}"
    if identity.shell != shell:
        raise LoadRefused(
            errno.EINVAL,
            f"{name} is for shell {identity.shell}, the board's is {shell}; `eddy bitstreams` builds it again",
        )


def _of_another_part(name: str, part: str, profile: Profile) -> LoadRefused:
    message = f"{name} is for part {part}, the board has {profile.part}; build it for profile {profile.name}"
    return LoadRefused(errno.EINVAL, message)


def find_program(
    identity: bitfile.Identity, profile: Profile, progress: Callable[[str], None]
) -> tuple[ModuleManifest, Path]:
    """The manifest and the Verilated model of an image's module; the model is built where missing.

    Raises:
        LoadRefused: There is no such module, it does not build, or its sources are not the image's any more.
    """
    try:
        module = load_module_manifest(build.manifest_path(identity.module))
        program, build_hash = build.build_module(identity.module, progress, profile.memory_bits)
    except EddyError as error:
        raise LoadRefused(errno.EINVAL, f"module {identity.module}: {error.message}") from error
    if f"{build_hash:016x}" != identity.build:
        raise LoadRefused(
            errno.EINVAL,
            f"the image holds build {identity.build} of {identity.module}, its sources now give {build_hash:016x};"
            " run `eddy bitstreams` to build it again",
        )
    return module, program


class Preparer:
    """What loads need beforehand on a simulated board: the models of modules, and of those that files of images name.

    Args:
        profile: The board.
        builder: Builds them beside everything else.
    """

    def __init__(self, profile: Profile, builder: ModelBuilder) -> None:
        self._profile, self._builder = profile, builder

    def prepare(self, module: str) -> Preparation:
        """Begin to build a model where it is missing, and say how that stands.

        Args:
            module: A module's name, or the path of a `.bit` file.
        """
        if not module.endswith(".bit"):
            return self._builder.prepare(module)
        try:
            return self._builder.prepare(read_image(Path(module), self._profile)[0].module)
        except EddyError as error:
            return Preparation(False, "", error.message)


class EngineImages:
    """What the images are that come through the engine of a shell (`eddy_sim.boards.board.ImageSink`).

    What a device would say of a wrong image is all that anybody is told: it reports an error.

    Args:
        profile: The board.
        faults: What is wrong with the next load of a slot; taken away by it.
        progress: Told why an image was refused, and what is being built.
    """

    def __init__(self, profile: Profile, faults: dict[int, LoadFault], progress: Callable[[str], None]) -> None:
        self._profile, self._faults, self._progress = profile, faults, progress
        self._fault = LoadFault()

    def image_begins(self, body: bytes) -> ArrivingImage | None:
        """What an image is, of which the identity record is in."""
        try:
            identity = bitfile.identity_of(body)
            check_identity(identity, self._profile, "the image")
        except EddyError as error:
            self._progress(f"the configuration port refuses an image: {error.message}")
            return None
        if not 0 <= identity.slot < len(self._profile.slots):
            self._progress("the configuration port refuses an image of no slot")
            return None
        self._fault = self._faults.pop(identity.slot, LoadFault())
        return ArrivingImage(identity.slot, self._fault)

    def image_ends(self, body: bytes) -> ArrivedImage:
        """What it brings, all of it being in."""
        if not bitfile.crc_ok(body) or self._fault.fails:
            return ArrivedImage(None, fault=self._fault)
        try:
            identity = bitfile.identity_of(body)
            module, program = find_program(identity, self._profile, self._progress)
        except EddyError as error:
            self._progress(f"the configuration port refuses an image: {error.message}")
            return ArrivedImage(None)
        return ArrivedImage(program, (int(identity.build, 16), module.kind.identity), self._fault)
