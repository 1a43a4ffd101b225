"""Commands of a pool of boards, and its pictures.

Called by `main`."""
