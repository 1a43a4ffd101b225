-f ../hls/hls.f
rtl/hls_table_flow.vh
rtl/hls_table_sbox_rom.dat
rtl/hls_table_sbox_rom.v
rtl/hls_table.v
rtl/hls_table_slot.sv
