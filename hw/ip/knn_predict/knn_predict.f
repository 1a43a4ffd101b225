-f ../hls_wrapper/hls_wrapper.f
rtl/knn_predict_core.sv
rtl/knn_predict.sv
