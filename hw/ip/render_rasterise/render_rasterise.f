-f ../hls_wrapper/hls_wrapper.f
rtl/render_rasterise_core.sv
rtl/render_rasterise.sv
