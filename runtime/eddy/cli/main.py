# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The `eddy` command. Each subcommand imports what it needs when it runs, so that help and completion stay instant."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from eddy.cli.boards import board_test, calibrate, doctor, gateway, gpu, install, module, module_import, serve
from eddy.cli.demo import command as demo_command
from eddy.cli.operator import app_packages, audit, backup, imports, maintenance, operate, projects, tenants
from eddy.cli.pools import pool
from eddy.cli.support import output
from eddy.cli.tenant import (
    blobs,
    events,
    explain,
    job_arrays,
    jobs,
    kernel,
    leases,
    login,
    market,
    notify,
    opencl,
    profile,
    resources,
    sessions,
    usage,
    vortex,
)
from eddy.cli.top import command as top_command
from eddy.core.errors import InvalidRequest
from eddy.host import distribution, logs

HELP = """Share an FPGA board between tenants: submit jobs, follow them, run the hypervisor.

Settings come from flags, then EDDY_* environment variables, then defaults. Exit codes: 0 done, 1 a job or a check
failed, 2 arguments, files or settings here are wrong, 3 nothing answers, 4 the server refused, 5 the board failed,
6 the data folder cannot be used.
"""


def _version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        print(distribution.describe())
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print versions and the commit.")
]


_MISTAKE: type[Any] = next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException")
"""What typer raises for arguments that are wrong; which package it is of depends on typer's version."""


class _Command(typer.Typer):
    """The command tree; where what was printed cannot be written, it ends in one line and not in a traceback."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the command line."""
        logs.open_streams()
        if isinstance(sys.stdout, io.TextIOWrapper):  # names may have letters that a terminal's encoding has not
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            try:
                if "--json" not in sys.argv[1:]:
                    return super().__call__(*arguments, **named)
                sys.exit(super().__call__(*arguments, standalone_mode=False, **named) or output.OK)
            except _MISTAKE as mistake:
                document = {"code": InvalidRequest.code, "detail": mistake.format_message()}
                print(json.dumps(document), file=sys.stderr)
                sys.exit(mistake.exit_code)
            finally:
                if sys.stdout is not None:  # it was closed by whoever started this
                    sys.stdout.flush()
        except OSError as failure:
            # What is still to be written must not fail again when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(failure, BrokenPipeError):
                sys.exit(output.FAILED)
            output.print_status(output.write_error_message(failure))
            sys.exit(output.USAGE)


class _Tree(TyperGroup):
    """Eddy's commands, and those that other distributions register below `eddy.commands`: functions, or Typer's trees.

    They are imported for the help of all commands, and for a command that is not Eddy's.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all."""
        for each in metadata.entry_points(group="eddy.commands"):
            try:
                if each.name not in self.commands:
                    self.commands[each.name] = _registered(each.name, each.load())
            except ModuleNotFoundError as missing:  # of a distribution that is there in part
                if str(missing.name).partition(".")[0] != each.module.partition(".")[0]:
                    raise
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name."""
        if cmd_name not in self.commands and cmd_name not in self.list_commands(ctx):
            with output.errors_in_one_line("--json" in sys.argv[1:]):
                if cmd_name in distribution.STUDIES_COMMANDS:
                    hint = f"pip install {distribution.STUDIES}"
                    raise InvalidRequest(f"eddy {cmd_name} is not installed here; `{hint}` in a clone adds it.")
        return super().get_command(ctx, cmd_name)


def _registered(name: str, made: Any) -> Any:
    """The command of that name, as the tree has it."""
    alone = typer.Typer()
    panel = "Policies without a board"
    if isinstance(made, typer.Typer):
        alone.add_typer(made, name=name, rich_help_panel=panel)
    else:
        alone.command(name, rich_help_panel=panel)(made)
    return typer.main.get_group(alone).commands[name]


app = _Command(cls=_Tree, help=HELP, no_args_is_help=True, pretty_exceptions_enable=False)


def _after_the_command(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    if value:
        raise typer.BadParameter(f"it goes after the command: `eddy jobs --{parameter.name} ...`.")
    return value


Misplaced = Annotated[str, typer.Option(callback=_after_the_command, hidden=True)]


@app.callback()
def eddy(version: Version = False, key: Misplaced = "", url: Misplaced = "") -> None:  # noqa: D103 - its help is the command's
    pass


_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Jobs": (
        jobs.submit,
        kernel.kernel,
        jobs.jobs,
        jobs.job,
        jobs.wait,
        explain.explain,
        profile.profile,
        kernel.log,
        jobs.cancel,
        jobs.result,
        jobs.hold,
        events.events,
    ),
    "Look up": (resources.apps, resources.slots, leases.leases, imports.bitstreams),
    "Operate": (
        *(
            serve.serve,
            serve.boardd,
            gateway.gateway,
            install.install,
            board_test.board_test,
            calibrate.calibrate,
            top_command.top,
            doctor.doctor,
        ),
        *(operate.drain, operate.undrain, operate.policy, operate.purge),
        *(usage.usage, usage.quota),
        *(backup.backup, backup.restore),
    ),
    "Who you are": (login.login, login.logout, login.context),
    "Try": (demo_command.demo,),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel, cls=serve.Serve if _command is serve.serve else None)(_command)
app.command("import", rich_help_panel="For hardware authors")(imports.import_package)
app.command("export", rich_help_panel="For hardware authors")(imports.export_package)
app.add_typer(blobs.app, name="blobs", rich_help_panel="Jobs")
app.add_typer(job_arrays.app, name="array", rich_help_panel="Jobs")
app.add_typer(notify.app, name="notify", rich_help_panel="Jobs")
app.add_typer(market.app, name="market", rich_help_panel="Look up")
app.add_typer(opencl.app, name="opencl", rich_help_panel="Jobs")
app.add_typer(vortex.app, name="vortex", rich_help_panel="Jobs")
app.add_typer(leases.app, name="lease", rich_help_panel="Jobs")
app.add_typer(sessions.app, name="sessions", rich_help_panel="Look up")
app.add_typer(app_packages.app, name="app", rich_help_panel="Operate")
app.add_typer(tenants.tenant, name="tenant", rich_help_panel="Operate")
app.add_typer(projects.app, name="project", rich_help_panel="Operate")
app.add_typer(audit.app, name="audit", rich_help_panel="Operate")
app.add_typer(maintenance.app, name="maintenance", rich_help_panel="Operate")
app.add_typer(pool.app, name="pool", rich_help_panel="Operate")
app.add_typer(tenants.key, name="key", rich_help_panel="Operate")
app.add_typer(gpu.app, name="gpu", rich_help_panel="For hardware authors")
app.add_typer(module_import.with_import(module.app), name="module", rich_help_panel="For hardware authors")

if __name__ == "__main__":
    app()
