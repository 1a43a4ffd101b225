# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`python -m eddy.board.signing`: what the command of `eddy.board.images.signing` was called, for one release more."""

import sys

from eddy.board.images.signing import main
from eddy.host import logs

if __name__ == "__main__":
    logs.open_streams()
    sys.exit(main())
