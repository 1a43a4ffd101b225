-f ../hls_wrapper/hls_wrapper.f
-f ../flow_window/flow_window.f
rtl/flow_tensor_weight.sv
