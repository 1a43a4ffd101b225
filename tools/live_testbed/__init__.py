"""[002]'s testbed as processes on this machine; see `tools/benches/makespan.py`."""
