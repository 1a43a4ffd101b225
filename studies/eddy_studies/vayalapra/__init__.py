"""The experiments of [000] on simulated clusters."""
