"""The GPU cluster in simulation: oracles, checks and runs."""
