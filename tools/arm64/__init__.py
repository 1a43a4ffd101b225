"""An emulated arm64 system, and what is checked in it."""
