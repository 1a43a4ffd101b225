-f ../axi_ports/axi_ports.f
rtl/ps_hpm.sv
