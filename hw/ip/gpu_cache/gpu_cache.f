../gpu_core/rtl/gpu_pkg.sv
rtl/gpu_icache.sv
rtl/gpu_store_buffer.sv
rtl/gpu_dcache_streams.sv
rtl/gpu_dcache_fills.sv
rtl/gpu_dcache_parked.sv
rtl/gpu_dcache_rows.sv
rtl/gpu_dcache.sv
