-f ../axi_ports/axi_ports.f
../axi_skid/rtl/skid.sv
rtl/ps_ids.sv
rtl/ps_hp.sv
