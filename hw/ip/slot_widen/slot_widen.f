-f ../axi_ports/axi_ports.f
-f ../burst_split/burst_split.f
rtl/widen_lane.sv
rtl/slot_widen.sv
