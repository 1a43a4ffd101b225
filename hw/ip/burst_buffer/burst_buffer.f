-f ../eddy_pkg/eddy_pkg.f
rtl/sync_fifo.sv
rtl/burst_buffer.sv
