-f ../hls_wrapper/hls_wrapper.f
-f ../flow_window/flow_window.f
rtl/flow_outer_product_core.sv
rtl/flow_outer_product.sv
