-f ../../../hw/ip/slot_ports/slot_ports.f
../hls/rtl/hls_axil.sv
rtl/hls_free.v
rtl/hls_free_slot.sv
