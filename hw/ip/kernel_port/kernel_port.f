-f ../axi_ports/axi_ports.f
-f ../eddy_pkg/eddy_pkg.f
-f ../slot_ports/slot_ports.f
../../regs/generated/identity_regs_pkg.sv
-f ../burst_buffer/burst_buffer.f
-f ../mem_xbar/mem_xbar.f
../axi_skid/rtl/skid.sv
../burst_split/rtl/part_queue.sv
rtl/kernel_pkg.sv
rtl/kernel_parts.sv
rtl/kernel_read.sv
rtl/kernel_write.sv
rtl/kernel_mem.sv
rtl/kernel_join.sv
rtl/kernel_axil.sv
rtl/kernel_slot.svh
