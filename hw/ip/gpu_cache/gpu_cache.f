../gpu_core/rtl/gpu_pkg.sv
rtl/gpu_icache.sv
rtl/gpu_store_buffer.sv
rtl/gpu_dcache.sv
