-f ../hls_wrapper/hls_wrapper.f
-f ../flow_window/flow_window.f
rtl/flow_gradient_xy_core.sv
rtl/flow_gradient_xy.sv
