-f ../../hw/ip/axi_skid/axi_skid.f
-f ../../hw/ip/axi_cdc/axi_cdc.f
-f ../../hw/ip/decoupler/decoupler.f
-f ../../hw/ip/firewall/firewall.f
boundary_tb.sv
