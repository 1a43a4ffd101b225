-f ../knn_init/knn_init.f
-f ../knn_search/knn_search.f
-f ../knn_predict/knn_predict.f
rtl/knn_whole.sv
