-f ../eddy_pkg/eddy_pkg.f
../../regs/generated/stream_port_regs_pkg.sv
../../regs/generated/stream_port_regs.sv
rtl/stream_port.sv
rtl/stream_link.sv
