-f ../../../hw/ip/stream_link/stream_link.f
stream_link_bench.sv
