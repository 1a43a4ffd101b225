-f ../hls_wrapper/hls_wrapper.f
rtl/knn_search_lane.sv
rtl/knn_search_core.sv
rtl/knn_search.sv
