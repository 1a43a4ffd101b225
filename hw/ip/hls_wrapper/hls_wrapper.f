-f ../eddy_pkg/eddy_pkg.f
-f ../slot_ports/slot_ports.f
../../regs/generated/identity_regs_pkg.sv
rtl/hls_pkg.sv
rtl/hls_fifo.sv
rtl/hls_bursts.sv
rtl/hls_reader.sv
rtl/hls_writer.sv
rtl/hls_ctrl.sv
rtl/hls_wrapper.sv
rtl/hls_run.svh
