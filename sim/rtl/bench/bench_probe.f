bench_probe.sv
