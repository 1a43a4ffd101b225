"""[002]'s testbed as processes on this machine; see `tools/bench_makespan.py`."""
