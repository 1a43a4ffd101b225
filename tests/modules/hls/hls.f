-f ../../../hw/ip/slot_ports/slot_ports.f
rtl/hls_control_s_axi.v
rtl/hls_axil.sv
