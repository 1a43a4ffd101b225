"""`eddy board-test`: what a board does, measured, in a signed report."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eddy import signals
from eddy.cli.options import BOARD, PROFILE, AsJson, option
from eddy.cli.output import FAILED, errors_in_one_line, print_json, say, write_text
from eddy.core.errors import InvalidRequest

if TYPE_CHECKING:
    from eddy.board.board_test import StepReport


def board_test(
    board: Annotated[str, option("board")] = BOARD,
    profile: Annotated[str, option("profile")] = PROFILE,
    boardd: Annotated[str, typer.Option("--boardd", help="Test the board of a running boardd, by its socket.")] = "",
    swaps: Annotated[int, typer.Option("--swaps", min=0, help="Loads of the last step.")] = 1000,
    key: Annotated[Path | None, typer.Option("--key", help="Private key that signs the report.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the report here, as JSON.")] = None,
    verify: Annotated[
        Path | None, typer.Option("--verify", help="Check a report's signature, and run nothing.")
    ] = None,
    trusted_keys: Annotated[
        Path | None, typer.Option("--trusted-keys", help="With --verify: folder of public keys that count.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test a board step by step: PASS, FAIL or NOT RUN, with the values measured. Nothing else may use it."""
    with signals.caught(), errors_in_one_line(as_json), signals.interruptible():
        if verify is not None:
            document = checked(verify, trusted_keys)
        else:
            document = tested(board, profile, boardd, swaps, quiet=as_json)
            if key is not None:
                from eddy.board.board_test import canonical
                from eddy.trust import load_key

                document["signature"] = load_key(key).sign(canonical(document)).hex()
        if out is not None:
            write_text(out, json.dumps(document, indent=2) + "\n")
        if as_json:
            print_json(document)
        elif verify is not None:
            print(f"{verify}: signed by a trusted key; {'passed' if document['passed'] else 'FAILED'}")
    if not document["passed"]:
        raise typer.Exit(FAILED)


def tested(board: str, profile: str, boardd: str, swaps: int, quiet: bool) -> dict[str, Any]:
    """Run the test; the report as plain data.

    Raises:
        InvalidRequest: The model board computes nothing that could be tested.
        BoardUnreachable: No boardd answers.
    """
    from eddy.board.board_test import Surroundings, report, run
    from eddy.board.factory import connect, open_board

    if board == "model":
        message = "The model board is no hardware and no RTL; test rtl or pynq."
        raise InvalidRequest(message, field="board", allowed=["rtl", "pynq"])
    opened = connect(Path(boardd)) if boardd else open_board(board, profile, progress=lambda text: say(f"eddy: {text}"))
    with contextlib.ExitStack() as ending:
        ending.callback(opened.release)
        around = Surroundings(time.monotonic, time.sleep if board == "pynq" else None, Path("/sys/class"))
        steps = []
        for step in run(opened, swaps, around):
            steps.append(step)
            if not quiet:
                _show(step)
        return report(opened, tuple(steps), time.time())


def checked(path: Path, trusted_keys: Path | None) -> dict[str, Any]:
    """A report whose signature counts.

    Raises:
        InvalidRequest: It cannot be read, or no trusted key signed it as it is.
    """
    from eddy.board.board_test import canonical
    from eddy.trust import trusted, vouched

    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        signature = str(document["signature"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path} is no signed report ({error}); eddy board-test --key KEY --out FILE makes one"
        raise InvalidRequest(message, field="verify") from error
    if not vouched(trusted(trusted_keys), signature, canonical(document)):
        message = f"no trusted key signed {path} as it is; give --trusted-keys the folder of the signer's public key"
        raise InvalidRequest(message, field="verify")
    return document


def _show(step: StepReport) -> None:
    values = ", ".join(f"{name} {value:.6g}" for name, value in step.measured.items())
    print(f"{step.outcome.value:<8} {step.step:<26}{step.found}{f'  [{values}]' if values else ''}", flush=True)
