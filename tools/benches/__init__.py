"""Cases of `tools/bench.py`, which says what a case is."""
