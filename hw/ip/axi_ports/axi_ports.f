rtl/axi_ports.svh
