-f ../eddy_pkg/eddy_pkg.f
rtl/part_queue.sv
rtl/burst_parts.sv
rtl/burst_split.sv
