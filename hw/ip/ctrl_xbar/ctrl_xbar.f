-f ../axi_ports/axi_ports.f
-f ../eddy_pkg/eddy_pkg.f
../../regs/generated/window_addr_pkg.sv
rtl/ctrl_bridge.sv
rtl/ctrl_xbar.sv
