"""Checks of reconfigurable modules at the slot boundary, and the harness that module benches stand on."""
