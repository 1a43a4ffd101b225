"""From a bitstream file to the Verilated model behind it, and what is checked on the way.

What a board's configuration logic checks is checked here, and what goes wrong is an `OSError`, as when the kernel's
FPGA manager refuses a file.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eddy.board.profile import Profile
from eddy.core.errors import ConfigurationFailed, EddyError, InvalidRequest
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleManifest
from eddy_drivers.regs.icap_engine import Cause

from eddy_sim import bitfile, build


class LoadRefused(ConfigurationFailed, OSError):
    """A bitstream did not load.

    Args:
        number: What `errno` would be on a board.
        message: What is wrong and what to do.
    """

    def __init__(self, number: int, message: str, **details: Any) -> None:
        super().__init__(message, cause="configuration-error", **details)
        self.errno, self.strerror = number, message


def port_failure(kind: str, region: str, cause: Cause) -> LoadRefused:
    """Why a load failed at the port: an engine names the cause, the processor's port does not.

    Args:
        kind: Of the port, as the profile says.
        region: The slot's.
        cause: What an engine found.
    """
    if kind != "icap":
        return LoadRefused(errno.EIO, f"the configuration port reported an error while loading {region}")
    name = cause.name.lower()
    return LoadRefused(
        errno.EIO,
        f"the configuration engine ended the load of {region}: {name} (docs/reference/registers/icap_engine.md)",
        engine=name,
    )


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
    if head.part != profile.part or identity.part != profile.part:
        raise LoadRefused(
            errno.EINVAL,
            f"{path.name} is for part {identity.part}, the board has {profile.part}; build it for profile"
            f" {profile.name}",
        )
    shell = f"{build.shell_build_hash(build.ShellShape.of(profile)):016x}"
    if identity.shell != shell:
        raise LoadRefused(
            errno.EINVAL,
            f"{path.name} is for shell {identity.shell}, the board's is {shell}; `eddy bitstreams` builds it again",
        )
    return identity, body


def find_program(identity: bitfile.Identity, progress: Callable[[str], None]) -> tuple[ModuleManifest, Path]:
    """The manifest and the Verilated model of an image's module; the model is built where missing.

    Raises:
        LoadRefused: There is no such module, it does not build, or its sources are not the image's any more.
    """
    try:
        module = load_module_manifest(build.manifest_path(identity.module))
        program, build_hash = build.build_module(identity.module, progress)
    except EddyError as error:
        raise LoadRefused(errno.EINVAL, f"module {identity.module}: {error.message}") from error
    if f"{build_hash:016x}" != identity.build:
        raise LoadRefused(
            errno.EINVAL,
            f"the image holds build {identity.build} of {identity.module}, its sources now give {build_hash:016x};"
            " run `eddy bitstreams` to build it again",
        )
    return module, program
