# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy board-test`: what a board does, measured, in a signed report."""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eddy.cli.support.options import BOARD, PROFILE, AsJson, option
from eddy.cli.support.output import FAILED, errors_in_one_line, print_json, print_status, write_text
from eddy.core.errors import InvalidRequest
from eddy.host import signals

if TYPE_CHECKING:
    from eddy.board.port.port import BoardPort
    from eddy.board.remote.gateway import Gateway
    from eddy.board.selftest.board_test_steps import StepReport


def board_test(
    board: Annotated[str, option("board")] = BOARD,
    profile: Annotated[str, option("profile")] = PROFILE,
    boardd: Annotated[
        str, typer.Option("--boardd", help="Test the board of a running boardd, by its socket or tls://HOST:PORT.")
    ] = "",
    gateway_key: Annotated[Path | None, typer.Option("--gateway-key", help="With tls://: your private key.")] = None,
    gateway_ca: Annotated[
        Path | None, typer.Option("--gateway-ca", help="With tls://: the gateway's certificate.")
    ] = None,
    images: Annotated[
        Path | None, typer.Option("--images", help="Folder of the board's bitstreams, where not boardd's.")
    ] = None,
    swaps: Annotated[int, typer.Option("--swaps", min=0, help="Loads in the last step.")] = 1000,
    past_checks: Annotated[
        bool,
        typer.Option("--past-checks", help="Also a damaged image, and clocks above modules': only without tenants."),
    ] = False,
    key: Annotated[Path | None, typer.Option("--key", help="Private key that signs the report.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the report here, as JSON.")] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Write what of the profile was measured to PROFILE.yaml here.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option("--verify", help="Check a report's signature, and run nothing.")
    ] = None,
    trusted_keys: Annotated[
        Path | None, typer.Option("--trusted-keys", help="With --verify: folder of public keys that count.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test a board step by step: PASS, FAIL or NOT RUN, with the values measured. Nothing else may use it."""
    with signals.catch_signals(), errors_in_one_line(as_json), signals.raise_on_signal():
        if verify is not None:
            document = load_signed_report(verify, trusted_keys)
        else:
            document = run_board_test(
                board, profile, way(boardd, gateway_key, gateway_ca), images, swaps, past_checks, quiet=as_json
            )
            if key is not None:
                from eddy.board.selftest.board_test import canonical
                from eddy.host.trust import load_key

                document["signature"] = load_key(key).sign(canonical(document)).hex()
        if out is not None:
            write_text(out, json.dumps(document, indent=2) + "\n")
        if keep is not None:
            save_measurements(document, keep)
        if as_json:
            print_json(document)
        elif verify is not None:
            print(f"{verify}: signed by a trusted key; {'passed' if document['passed'] else 'FAILED'}")
    if not document["passed"]:
        raise typer.Exit(FAILED)


def save_measurements(document: dict[str, Any], folder: Path) -> None:
    """Write what a report measured of the profile's fields to where boardd reads it, and say it.

    Raises:
        InvalidRequest: The board did not pass, or nothing was measured.
        StorageFailed: The file cannot be written.
    """
    from eddy.board.port.measured import read_measurements, write

    day = datetime.datetime.fromtimestamp(document["at_unix_s"], datetime.timezone.utc).date().isoformat()
    found, path = read_measurements(document, day), folder / f"{document['profile']}.yaml"
    write(path, found)
    values = ", ".join(f"{name} {value}" for name, value in found.items())
    print_status(f"eddy: {path} has {values}; boardd reads it with --measured {folder} when it starts")


def way(boardd: str, key: Path | None, authority: Path | None) -> Path | Gateway | None:
    """Where a boardd is that was named: its socket, or a gateway with the key that opens it; None where none was.

    Raises:
        InvalidRequest: It is a gateway, and what opens it is missing.
    """
    if not boardd.startswith("tls://"):
        return Path(boardd) if boardd else None
    from eddy.board.remote.gateway import Gateway

    if key is None or authority is None:
        missing = "gateway_key" if key is None else "gateway_ca"
        raise InvalidRequest(f"{boardd} is a gateway: say --gateway-key and --gateway-ca, too", field=missing)
    return Gateway.named(boardd, key, authority)


def run_board_test(
    board: str,
    profile: str,
    boardd: Path | Gateway | None,
    images: Path | None,
    swaps: int,
    past_checks: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Run the test; the report as plain data.

    Raises:
        InvalidRequest: The model board computes nothing that could be tested; or a boardd owns the board, whose checks
            nobody gets past.
        BoardUnreachable: No boardd answers.
        Unauthorized: The gateway does not know the key.
    """
    from eddy.board.pynq.pynq import PynqBoard
    from eddy.board.remote.factory import open_board
    from eddy.board.remote.socket import SocketBoard
    from eddy.board.selftest.board_test import SelfTestEnvironment, report, run

    if board == "model":
        message = "The model board is no hardware and no RTL; test rtl or pynq."
        raise InvalidRequest(message, field="board", allowed=["rtl", "pynq"])
    if past_checks and boardd is not None:
        message = "boardd lets nobody past its checks: stop it, and leave --boardd out (systemctl stop eddy-boardd)"
        raise InvalidRequest(message, field="past_checks")
    opened: BoardPort
    if boardd is None:
        opened = open_board(board, profile, images=images, progress=lambda text: print_status(f"eddy: {text}"))
    else:
        opened = SocketBoard(boardd)
    with contextlib.ExitStack() as ending:
        ending.callback(opened.release)
        around = SelfTestEnvironment(time.monotonic, time.sleep if board == "pynq" else None, Path("/sys/class"))
        steps = []
        past = ending.enter_context(opened.past_checks()) if past_checks and isinstance(opened, PynqBoard) else None
        for step in run(opened, swaps, around, past):
            steps.append(step)
            if not quiet:
                _show(step)
        return report(opened, tuple(steps), time.time())


def load_signed_report(path: Path, trusted_keys: Path | None) -> dict[str, Any]:
    """A report whose signature counts.

    Raises:
        InvalidRequest: It cannot be read, or no trusted key signed it as it is.
    """
    from eddy.board.selftest.board_test import canonical
    from eddy.host.trust import load_trusted_keys, verify_signature

    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        signature = str(document["signature"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path} is no signed report ({error}); eddy board-test --key KEY --out FILE makes one"
        raise InvalidRequest(message, field="verify") from error
    if not verify_signature(load_trusted_keys(trusted_keys), signature, canonical(document)):
        message = f"no trusted key signed {path} as it is; give --trusted-keys the folder of the signer's public key"
        raise InvalidRequest(message, field="verify")
    return document


def _show(step: StepReport) -> None:
    values = ", ".join(f"{name} {value:.6g}" for name, value in step.measured.items())
    print(f"{step.outcome.value:<8} {step.step:<26}{step.found}{f'  [{values}]' if values else ''}", flush=True)
