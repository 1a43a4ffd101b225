# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The `eddy` command, from its first import on: a key press or a signal ends it without a traceback."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable


def main() -> None:
    """Run the command; never returns."""
    app = _imported()
    from eddy.host import signals

    signals.mark_last_command()
    try:
        app()
    except KeyboardInterrupt:  # between what a command catches itself
        sys.exit(128 + signal.SIGINT)
    finally:
        # All is done but the end of the interpreter, which a key press would cover with a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.freeze()  # that end would search all modules for garbage: a fifth of what a short command takes


def _imported() -> Callable[[], None]:
    """The command tree. Until it is there nothing is held that needs closing: a key press may end the process."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        from eddy.cli.main import app  # SIGINT is ignored, or a caller's own

        return app
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from eddy.cli.main import app

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return app


if __name__ == "__main__":
    main()
