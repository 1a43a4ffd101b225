-f ../axi_ports/axi_ports.f
../../regs/generated/window_addr_pkg.sv
rtl/reg_split.sv
