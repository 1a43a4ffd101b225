# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy install`: Eddy as two services of a board, upgraded and rolled back by a link, removed without a trace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from eddy.cli.boards.install_files import (
    CURRENT,
    GATEWAY,
    GATEWAY_FILES,
    GROUP,
    PREVIOUS,
    SYSTEM_UNITS,
    UNIT_FOLDERS,
    UNITS,
    USER,
    files,
    path_below,
)
from eddy.cli.support.options import PROFILE, AsJson, option
from eddy.cli.support.output import errors_in_one_line, print_json, print_status
from eddy.core.errors import Conflict, InvalidRequest, NotFound
from eddy.host.files import translate_os_errors

DATA = ("var/lib/eddy", "var/lib/eddy-boardd", "var/cache/eddy", "run/eddy")
"""Folders that the services make and fill."""
BITSTREAMS, TRUSTED = PurePosixPath("lib/firmware/eddy"), PurePosixPath("etc/eddy/trusted-keys")
"""Where boardd looks for a board's bitstreams, a folder a profile, and for the keys that may have signed them."""

ROOT = Path("/")


def install(
    profile: Annotated[str, option("profile")] = PROFILE,
    root: Annotated[Path, typer.Option("--root", help="Root of the board's file system.")] = ROOT,
    environment: Annotated[
        Path | None, typer.Option("--environment", help="Virtual environment to run; by default this command's.")
    ] = None,
    bitstreams: Annotated[
        Path | None, typer.Option("--bitstreams", help="Package of bitstreams, as the board's build made it.")
    ] = None,
    gateway: Annotated[
        bool | None,
        typer.Option("--gateway/--no-gateway", help="Also the gateway for operators elsewhere; upgrades keep it."),
    ] = None,
    rollback: Annotated[bool, typer.Option("--rollback", help="Go back to the environment in use before.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take everything away but jobs and keys.")] = False,
    purge: Annotated[bool, typer.Option("--purge", help="With --remove: jobs and keys, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Install Eddy's services on a board, or remove them."""
    with errors_in_one_line(as_json):
        if purge and not remove:
            raise InvalidRequest("--purge goes with --remove: it deletes jobs and keys", field="purge")
        live = root == ROOT
        if live and os.geteuid() != 0:
            raise InvalidRequest("only root may install services; say sudo eddy install", field="root")
        with translate_os_errors(root):
            if remove:
                uninstall(root, live, purge)
            elif rollback:
                restore_previous(root)
                _manage(live, ["systemctl", "try-restart", *UNITS, *_gateway_there(root)])
            else:
                put_in_place(root, profile, environment or Path(sys.prefix), live, bitstreams, gateway)
        if as_json:
            in_use, before = _link(path_below(root, CURRENT)), _link(path_below(root, PREVIOUS))
            print_json({"environment": in_use and str(in_use), "previous": before and str(before)})


def put_in_place(
    root: Path,
    profile: str,
    environment: Path,
    live: bool,
    bitstreams: Path | None = None,
    gateway: bool | None = None,
) -> None:
    """Write the files, and put the environment in use; the one in use until now is kept to go back to.

    A gateway is put there, or taken away; None: it stays as it is.

    Raises:
        NotFound: No such profile, the environment has no `eddy`, or a gateway lacks its certificate or keys.
        InvalidRequest, ImageRefused: The package of bitstreams is not one for this board, or not as it was made.
        StorageFailed: A file cannot be written.
    """
    from eddy.board.port.profile import load_profile

    board = load_profile(profile)
    if not (environment / "bin" / "eddy").is_file():
        message = f"{environment} has no bin/eddy; install Eddy in it first, from its wheel with [serve,board]"
        raise NotFound(message, field="environment")
    if bitstreams is not None:
        _put_bitstreams(root, profile, bitstreams, board.requires_signature)
    if gateway:
        _check_gateway(root)
    python = next(((environment / "lib").glob("python3.*")), None)
    before = _gateway_there(root)
    if gateway is False and before:
        _manage(live, ["systemctl", "stop", GATEWAY])
        _unlink(root, path_below(root, SYSTEM_UNITS / GATEWAY))
    wanted = gateway or (gateway is None and bool(before))
    for each in files(profile, python.name if python else f"python3.{sys.version_info[1]}", wanted):
        target = path_below(root, each.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, each.text)
    current, previous = path_below(root, CURRENT), path_below(root, PREVIOUS)
    current.parent.mkdir(parents=True, exist_ok=True)
    in_use = _link(current)
    if in_use not in (None, environment):
        _point(previous, in_use)
    _point(current, environment)
    _stop_other_loaders(live)
    _manage(live, ["systemd-sysusers", "eddy.conf"])
    _manage(live, ["udevadm", "control", "--reload"])
    _manage(live, ["systemctl", "daemon-reload"])
    _manage(live, ["systemctl", "enable", *UNITS])
    _manage(live, ["systemctl", "restart", *UNITS])
    if gateway:
        print_status(
            f"eddy: {GATEWAY} is there, and off: systemctl start {GATEWAY} starts it, and stops eddy-serve meanwhile"
        )
    print_status(
        f"eddy: {environment} is in use; jobs go to /var/lib/eddy, logs to the journal (journalctl -u 'eddy-*')"
    )


def _check_gateway(root: Path) -> None:
    """Refuse a gateway that could not start: asked to, it would stop eddy-serve for nothing.

    Raises:
        NotFound: Something that it needs is not there.
    """
    folder = path_below(root, PurePosixPath(GATEWAY_FILES.lstrip("/")))
    needed = ("gateway.pem", "gateway-key.pem", "gateway-keys/*.pub")
    if missing := [name for name in needed if not any(folder.glob(name))]:
        message = f"a gateway needs {', '.join(missing)} in {folder}; docs/how-to/board-from-elsewhere.md says how"
        raise NotFound(message, field="gateway")


def _gateway_there(root: Path) -> tuple[str, ...]:
    """The gateway's unit, where there is one."""
    return (GATEWAY,) if path_below(root, SYSTEM_UNITS / GATEWAY).is_file() else ()


def _stop_other_loaders(live: bool) -> None:
    """End daemons that load designs; the files keep them from starting again."""
    from eddy.board.pynq.competing_loaders import find_running_loaders

    for loader in find_running_loaders() if live else ():
        there = [unit for unit in loader.units if any(Path(folder, unit).exists() for folder in UNIT_FOLDERS)]
        _manage(live, ["systemctl", "stop", *there])
        print_status(
            f"eddy: {loader.name} was stopped, and stays out while Eddy is installed; what it loaded goes with a reboot"
        )


def _put_bitstreams(root: Path, profile: str, package: Path, required: bool) -> None:
    from eddy.board.images.package import checked, put
    from eddy.host.trust import load_trusted_keys

    keys = path_below(root, TRUSTED)
    names = checked(package, profile, load_trusted_keys(keys if keys.is_dir() else None), required)
    put(package, names, path_below(root, BITSTREAMS) / profile)


def restore_previous(root: Path) -> None:
    """Put the environment before the one in use in its place, and the other way round.

    Raises:
        Conflict: There is none.
    """
    current, previous = path_below(root, CURRENT), path_below(root, PREVIOUS)
    in_use, before = _link(current), _link(previous)
    if in_use is None or before is None:
        raise Conflict(
            "there is no environment to go back to: nothing was upgraded since eddy install", field="rollback"
        )
    _point(current, before)
    _point(previous, in_use)
    print_status(f"eddy: {before} is in use again")


def uninstall(root: Path, live: bool, purge: bool) -> None:
    """Stop the services and take away what `put_in_place` wrote; with `purge` what they wrote, and their user."""
    _manage(live, ["systemctl", "disable", "--now", *UNITS, *_gateway_there(root)])
    for each in files("", gateway=True):
        _unlink(root, path_below(root, each.path))
    for link in (CURRENT, PREVIOUS):
        _unlink(root, path_below(root, link))
    shutil.rmtree(path_below(root, BITSTREAMS), ignore_errors=True)
    _manage(live, ["systemctl", "daemon-reload"])
    _manage(live, ["udevadm", "control", "--reload"])
    if purge:
        for folder in DATA:
            shutil.rmtree(root / folder, ignore_errors=True)
        _manage(live, ["userdel", USER])
        _manage(live, ["groupdel", GROUP])
    print_status(
        "eddy: removed" + ("" if purge else "; jobs and keys stay in /var/lib/eddy, --purge deletes them, too")
    )


def _replace(target: Path, text: str) -> None:
    temporary = target.with_name(f".{target.name}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.chmod(0o644)
    temporary.replace(target)


def _link(path: Path) -> Path | None:
    return path.readlink() if path.is_symlink() else None


def _point(link: Path, target: Path | None) -> None:
    """Point a link somewhere, in one step: whoever starts a service sees the one or the other."""
    assert target is not None
    temporary = link.with_name(f".{link.name}.new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)


def _unlink(root: Path, path: Path) -> None:
    """Remove a file and the folders above it that are empty now; those every system has stay."""
    path.unlink(missing_ok=True)
    for folder in path.relative_to(root).parents:
        name = folder.as_posix()
        if name in _EVERYWHERE or not (root / folder).is_dir() or any((root / folder).iterdir()):
            return
        (root / folder).rmdir()


_EVERYWHERE = frozenset(
    {".", "etc", "etc/systemd", "etc/systemd/system", "etc/udev", "etc/udev/rules.d"}
    | {"usr", "usr/lib", "usr/lib/sysusers.d", "opt"}
)


def _manage(live: bool, command: Sequence[str]) -> None:
    """Tell the system, where it is this one; a tool that fails says why itself, and the rest goes on."""
    if not live:
        return
    try:
        done = subprocess.run(command, check=False)
    except FileNotFoundError:
        print_status(f"eddy: {command[0]} is not here; do what `{' '.join(command)}` would")
        return
    if done.returncode:
        print_status(f"eddy: `{' '.join(command)}` failed with {done.returncode}")
