"""The parts of `tools/bench_service.py`: servers to measure, a reference beside them, clients that cost little."""
