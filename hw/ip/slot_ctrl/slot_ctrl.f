-f ../eddy_pkg/eddy_pkg.f
-f ../async_fifo/async_fifo.f
../firewall/rtl/firewall_pkg.sv
../../regs/generated/slot_ctrl_regs_pkg.sv
../../regs/generated/slot_ctrl_regs.sv
rtl/clock_watch.sv
rtl/slot_ctrl.sv
