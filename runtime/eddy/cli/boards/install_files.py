# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The files that `eddy install` puts on a board, as text: hardened services, a user, a rule for devices.

`eddy-boardd` runs as root, for PYNQ maps /dev/mem for nobody else, with no capability but those that this takes, no
network, and a file system that is read-only but for what PYNQ and the FPGA manager write. `eddy-serve` parses the
network as user `eddy` and reaches the board through boardd's socket alone. `eddy-gateway`, where asked for, does so in
place of it, as a user that exists only while it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CURRENT, PREVIOUS = PurePosixPath("opt/eddy/current"), PurePosixPath("opt/eddy/previous")
"""Links to the environment in use and to the one before it."""
USER, GROUP = "eddy", "eddy-board"
SOCKET = "/run/eddy/boardd.sock"
GATEWAY_FILES = "/etc/eddy"
"""Where the gateway's certificate and key lie, `gateway.pem` and `gateway-key.pem`; who may come in, `gateway-keys`."""

_CALLS = "~@clock @cpu-emulation @debug @module @mount @obsolete @privileged @raw-io @reboot @resources @swap"
_CONFINED = """\
NoNewPrivileges=yes
UMask=0027
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
ProtectHostname=yes
ProtectClock=yes
ProtectKernelLogs={kernel_logs}
ProtectKernelModules=yes
ProtectControlGroups=yes
ProtectProc={proc}
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
KeyringMode=private
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
"""

_BOARDD = f"""\
[Unit]
Description=Eddy: the privileged half, which owns the fabric
Documentation=man:systemd.exec(5)
After=local-fs.target systemd-modules-load.service
# Which devices char-uio means is looked up once, as the service starts. Where UIO is a module that nothing has needed
# yet, it would mean none, and the fabric's interrupt, which appears with the design, would open at a second start only.
Wants=modprobe@uio_pdrv_genirq.service
After=modprobe@uio_pdrv_genirq.service
ConditionPathExists=/sys/class/fpga_manager/fpga0

[Service]
Type=notify
NotifyAccess=main
ExecStart=/{CURRENT}/bin/eddy boardd --board pynq --profile {{profile}} --socket {SOCKET} \\
  --notary /var/lib/eddy-boardd/notary --measured /etc/eddy/measured
Environment=XILINX_XRT=/usr
# What was loaded, what was running and which design is on the fabric outlive a restart, not a reboot.
RuntimeDirectory=eddy
RuntimeDirectoryMode=0750
RuntimeDirectoryPreserve=yes
StateDirectory=eddy-boardd
StateDirectoryMode=0700
# PYNQ writes loaded.xclbin where it is started.
WorkingDirectory=/var/lib/eddy-boardd
Group={GROUP}
Restart=on-failure
RestartSec=1
WatchdogSec=30
TimeoutStopSec=30

# /dev/mem takes CAP_SYS_RAWIO; which files may be written is said below.
CapabilityBoundingSet=CAP_SYS_RAWIO
AmbientCapabilities=
DevicePolicy=closed
DeviceAllow=/dev/mem rw
DeviceAllow=/dev/uio0 rw
DeviceAllow=char-uio rw
DeviceAllow=char-drm rw
DeviceAllow=/dev/kmsg r
# PYNQ keeps its own record beside its code.
ReadWritePaths=-/lib/firmware -/{CURRENT}/lib/{{python}}/site-packages/pynq/pl_server
PrivateNetwork=yes
IPAddressDeny=any
RestrictAddressFamilies=AF_UNIX
SystemCallFilter=@system-service
SystemCallFilter=~@clock @cpu-emulation @debug @module @mount @obsolete @reboot @resources @swap
MemoryDenyWriteExecute=yes
{_CONFINED.format(kernel_logs="no", proc="default")}
[Install]
WantedBy=multi-user.target
"""

_SERVE = f"""\
[Unit]
Description=Eddy: HTTP API, scheduler and store
After=network.target eddy-boardd.service
Wants=eddy-boardd.service

[Service]
Type=notify
NotifyAccess=main
ExecStart=/{CURRENT}/bin/eddy serve --board pynq --profile {{profile}} --boardd {SOCKET} --data /var/lib/eddy
User={USER}
Group={USER}
SupplementaryGroups={GROUP}
StateDirectory=eddy
StateDirectoryMode=0700
CacheDirectory=eddy
WorkingDirectory=/var/lib/eddy
Restart=on-failure
RestartSec=1
WatchdogSec=60
TimeoutStopSec=60

CapabilityBoundingSet=
AmbientCapabilities=
PrivateDevices=yes
DevicePolicy=closed
PrivateUsers=yes
ProtectKernelTunables=yes
ProcSubset=pid
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallFilter=@system-service
SystemCallFilter={_CALLS}
{_CONFINED.format(kernel_logs="yes", proc="invisible")}
[Install]
WantedBy=multi-user.target
"""

_GATEWAY = f"""\
[Unit]
Description=Eddy: a gateway to the board for operators elsewhere
Documentation=man:systemd.exec(5)
After=network.target eddy-boardd.service
Wants=eddy-boardd.service
# boardd has one client at a time: starting the one stops the other.
Conflicts=eddy-serve.service
AssertPathExists={GATEWAY_FILES}/gateway.pem
AssertPathExists={GATEWAY_FILES}/gateway-key.pem
AssertPathExistsGlob={GATEWAY_FILES}/gateway-keys/*.pub

[Service]
Type=notify
NotifyAccess=main
ExecStart=/{CURRENT}/bin/eddy gateway --socket {SOCKET} --keys {GATEWAY_FILES}/gateway-keys --listen :7443 \\
  --tls-cert {GATEWAY_FILES}/gateway.pem --tls-key ${{{{CREDENTIALS_DIRECTORY}}}}/gateway-key.pem
# Root's file, which this user sees a copy of.
LoadCredential=gateway-key.pem:{GATEWAY_FILES}/gateway-key.pem
DynamicUser=yes
SupplementaryGroups={GROUP}
Restart=on-failure
RestartSec=1
TimeoutStopSec=30

CapabilityBoundingSet=
AmbientCapabilities=
PrivateDevices=yes
DevicePolicy=closed
PrivateUsers=yes
ProtectKernelTunables=yes
ProcSubset=pid
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallFilter=@system-service
SystemCallFilter={_CALLS}
{_CONFINED.format(kernel_logs="yes", proc="invisible")}"""

_SYSUSERS = f"""\
g {GROUP} -
u {USER} - "Eddy" /var/lib/eddy
m {USER} {GROUP}
"""

_UDEV = f"""\
# The interrupt of Eddy's shell; the node's name is the one in its device-tree overlay.
SUBSYSTEM=="uio", ATTR{{name}}=="fabric", GROUP="{GROUP}", MODE="0660", SYMLINK+="eddy/fabric"
"""

_NOT_BESIDE_EDDY = f"""\
# Two loaders of one fabric hang the processor: while Eddy is installed, this one stays out.
[Unit]
ConditionPathExists=!/{CURRENT}
"""

UNITS = ("eddy-boardd.service", "eddy-serve.service")
GATEWAY = "eddy-gateway.service"
"""Not started by itself, nor at boot."""
SYSTEM_UNITS = PurePosixPath("etc/systemd/system")
UNIT_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
"""Where systemd looks for them."""


@dataclass(frozen=True)
class InstalledFile:
    """A file, by its path below the root, without a leading slash."""

    path: PurePosixPath
    text: str


def files(profile: str, python: str = "python3.10", gateway: bool = False) -> tuple[InstalledFile, ...]:
    """Everything that is written, but for the links to the environments.

    Args:
        profile: Name of the board's profile.
        python: Folder of the environment's packages below `lib`.
        gateway: Whether the gateway's unit is one of them.
    """
    from eddy.board.pynq.competing_loaders import LOADERS

    others = [unit for loader in LOADERS for unit in loader.units]
    filled = {"profile": profile, "python": python}
    units = {**dict(zip(UNITS, (_BOARDD, _SERVE), strict=True)), **({GATEWAY: _GATEWAY} if gateway else {})}
    return (
        *(InstalledFile(SYSTEM_UNITS / name, text.format(**filled)) for name, text in units.items()),
        *(InstalledFile(SYSTEM_UNITS / f"{name}.d" / "eddy.conf", _NOT_BESIDE_EDDY) for name in others),
        InstalledFile(PurePosixPath("usr/lib/sysusers.d/eddy.conf"), _SYSUSERS),
        InstalledFile(PurePosixPath("etc/udev/rules.d/70-eddy.rules"), _UDEV),
    )


def path_below(root: Path, path: PurePosixPath) -> Path:
    """A path of the board, below a root that may be another folder."""
    return root.joinpath(*path.parts)
