-f ../hls_wrapper/hls_wrapper.f
rtl/knn_init_core.sv
rtl/knn_init.sv
