-f ../kernel_port/kernel_port.f
../../regs/generated/kernel_run_regs_pkg.sv
../../regs/generated/kernel_stream_regs_pkg.sv
../../regs/generated/kernel_stream_regs.sv
../hls_wrapper/rtl/hls_fifo.sv
../hls_wrapper/rtl/hls_bursts.sv
../hls_wrapper/rtl/hls_reader.sv
rtl/kernel_unpack.sv
rtl/kernel_pack.sv
rtl/kernel_stream_in.sv
rtl/kernel_stream_out.sv
rtl/kernel_poke.sv
rtl/kernel_scalars.sv
../vendor_parts/rtl/xpm_memory_read.sv
../vendor_parts/rtl/xpm_memory_parts.sv
rtl/kernel_array.sv
rtl/kernel_run.sv
rtl/kernel_run.svh
