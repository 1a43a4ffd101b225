"""Commands at a board: serve, install, examine, test and calibrate it, and check modules and programs for it.

Called by `main`."""
