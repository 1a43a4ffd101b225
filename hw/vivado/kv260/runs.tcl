# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# Written by tools/board.py from hw/vivado/boards.yaml; edit that.
set board kv260
set part xck26-sfvc784-2LV-c
set shell_mhz 100.000000
set static_list hw/top/kv260/kv260.f
module conv_pool conv_pool hw/ip/conv_pool/conv_pool.f {}
module dct dct hw/ip/dct/dct.f {}
module dense dense hw/ip/dense/dense.f {}
module dequantize dequantize hw/ip/dequantize/dequantize.f {}
module flow_calc flow_calc hw/ip/flow_calc/flow_calc.f {}
module flow_gradient_weight flow_gradient_weight hw/ip/flow_gradient_weight/flow_gradient_weight.f {}
module flow_gradient_xy flow_gradient_xy hw/ip/flow_gradient_xy/flow_gradient_xy.f {}
module flow_gradient_z flow_gradient_z hw/ip/flow_gradient_z/flow_gradient_z.f {}
module flow_outer_product flow_outer_product hw/ip/flow_outer_product/flow_outer_product.f {}
module flow_read_input flow_read_input hw/ip/flow_read_input/flow_read_input.f {}
module flow_tensor_weight flow_tensor_weight hw/ip/flow_tensor_weight/flow_tensor_weight.f {}
module gpu_1c4w4t gpu_cluster hw/ip/gpu_cluster/gpu_cluster.f {Cores=1 Fpu=1 Threads=4 Warps=4}
module idct idct hw/ip/idct/idct.f {}
module image_back image_back hw/ip/image_back/image_back.f {}
module image_front image_front hw/ip/image_front/image_front.f {}
module knn_init knn_init hw/ip/knn_init/knn_init.f {}
module knn_predict knn_predict hw/ip/knn_predict/knn_predict.f {}
module knn_search knn_search hw/ip/knn_search/knn_search.f {}
module knn_whole knn_whole hw/ip/knn_whole/knn_whole.f {}
module level_shift level_shift hw/ip/level_shift/level_shift.f {}
module quantize quantize hw/ip/quantize/quantize.f {}
module reconstruct reconstruct hw/ip/reconstruct/reconstruct.f {}
module render_cull render_cull hw/ip/render_cull/render_cull.f {}
module render_project render_project hw/ip/render_project/render_project.f {}
module render_rasterise render_rasterise hw/ip/render_rasterise/render_rasterise.f {}
module row_probe row_probe hw/ip/row_probe/row_probe.f {}
slot 0 {u_zynqmp/gen_slots[0].u_slot} 100.000000 {conv_pool dct dense dequantize flow_calc flow_gradient_weight flow_gradient_xy flow_gradient_z flow_outer_product flow_read_input flow_tensor_weight idct image_back image_front knn_init knn_predict knn_search knn_whole level_shift quantize reconstruct render_cull render_project render_rasterise row_probe}
slot 1 {u_zynqmp/gen_slots[1].u_slot} 100.000000 {conv_pool dct dense dequantize flow_calc flow_gradient_weight flow_gradient_xy flow_gradient_z flow_outer_product flow_read_input flow_tensor_weight idct image_back image_front knn_init knn_predict knn_search knn_whole level_shift quantize reconstruct render_cull render_project render_rasterise row_probe}
slot 2 {u_zynqmp/gen_slots[2].u_slot} 100.000000 {conv_pool dct dense dequantize flow_calc flow_gradient_weight flow_gradient_xy flow_gradient_z flow_outer_product flow_read_input flow_tensor_weight idct image_back image_front knn_init knn_predict knn_search knn_whole level_shift quantize reconstruct render_cull render_project render_rasterise row_probe}
slot 3 {u_zynqmp/gen_slots[3].u_slot} 100.000000 {conv_pool dct dense dequantize flow_calc flow_gradient_weight flow_gradient_xy flow_gradient_z flow_outer_product flow_read_input flow_tensor_weight gpu_1c4w4t idct image_back image_front knn_init knn_predict knn_search knn_whole level_shift quantize reconstruct render_cull render_project render_rasterise row_probe}
