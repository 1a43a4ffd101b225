-f ../../ip/axi_ports/axi_ports.f
-f ../shell/shell.f
-f ../../ip/ps_hp/ps_hp.f
-f ../../ip/ps_hpm/ps_hpm.f
-f ../../ip/reg_split/reg_split.f
-f ../../ip/async_fifo/async_fifo.f
../../ip/slot_ports/rtl/slot_ports.svh
rtl/slot.sv
rtl/zynqmp_ps.sv
rtl/zynqmp.sv
