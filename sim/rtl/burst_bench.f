-f ../../hw/ip/burst_buffer/burst_buffer.f
-f ../../hw/ip/burst_split/burst_split.f
burst_bench.sv
