../axi_skid/rtl/skid.sv
rtl/ps_ids.sv
rtl/ps_hp.sv
