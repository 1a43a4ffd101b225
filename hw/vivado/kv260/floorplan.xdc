# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# Written by tools/board.py from hw/vivado/boards.yaml; edit that.
set_property HD.RECONFIGURABLE true [get_cells {u_zynqmp/gen_slots[0].u_slot}]
create_pblock slot0
add_cells_to_pblock [get_pblocks slot0] [get_cells {u_zynqmp/gen_slots[0].u_slot}]
resize_pblock [get_pblocks slot0] -add {SLICE_X40Y60:SLICE_X60Y119}
resize_pblock [get_pblocks slot0] -add {DSP48E2_X11Y24:DSP48E2_X12Y47}
resize_pblock [get_pblocks slot0] -add {RAMB18_X1Y24:RAMB18_X2Y47}
resize_pblock [get_pblocks slot0] -add {RAMB36_X1Y12:RAMB36_X2Y23}
resize_pblock [get_pblocks slot0] -add {URAM288_X0Y16:URAM288_X0Y31}
set_property SNAPPING_MODE ON [get_pblocks slot0]
set_property IS_SOFT FALSE [get_pblocks slot0]
set_property CONTAIN_ROUTING true [get_pblocks slot0]
set_property HD.RECONFIGURABLE true [get_cells {u_zynqmp/gen_slots[1].u_slot}]
create_pblock slot1
add_cells_to_pblock [get_pblocks slot1] [get_cells {u_zynqmp/gen_slots[1].u_slot}]
resize_pblock [get_pblocks slot1] -add {SLICE_X40Y120:SLICE_X60Y179}
resize_pblock [get_pblocks slot1] -add {DSP48E2_X11Y48:DSP48E2_X12Y71}
resize_pblock [get_pblocks slot1] -add {RAMB18_X1Y48:RAMB18_X2Y71}
resize_pblock [get_pblocks slot1] -add {RAMB36_X1Y24:RAMB36_X2Y35}
resize_pblock [get_pblocks slot1] -add {URAM288_X0Y32:URAM288_X0Y47}
set_property SNAPPING_MODE ON [get_pblocks slot1]
set_property IS_SOFT FALSE [get_pblocks slot1]
set_property CONTAIN_ROUTING true [get_pblocks slot1]
set_property HD.RECONFIGURABLE true [get_cells {u_zynqmp/gen_slots[2].u_slot}]
create_pblock slot2
add_cells_to_pblock [get_pblocks slot2] [get_cells {u_zynqmp/gen_slots[2].u_slot}]
resize_pblock [get_pblocks slot2] -add {SLICE_X40Y180:SLICE_X60Y239}
resize_pblock [get_pblocks slot2] -add {DSP48E2_X11Y72:DSP48E2_X12Y95}
resize_pblock [get_pblocks slot2] -add {RAMB18_X1Y72:RAMB18_X2Y95}
resize_pblock [get_pblocks slot2] -add {RAMB36_X1Y36:RAMB36_X2Y47}
resize_pblock [get_pblocks slot2] -add {URAM288_X0Y48:URAM288_X0Y63}
set_property SNAPPING_MODE ON [get_pblocks slot2]
set_property IS_SOFT FALSE [get_pblocks slot2]
set_property CONTAIN_ROUTING true [get_pblocks slot2]
set_property HD.RECONFIGURABLE true [get_cells {u_zynqmp/gen_slots[3].u_slot}]
create_pblock slot3
add_cells_to_pblock [get_pblocks slot3] [get_cells {u_zynqmp/gen_slots[3].u_slot}]
resize_pblock [get_pblocks slot3] -add {SLICE_X17Y0:SLICE_X39Y239}
resize_pblock [get_pblocks slot3] -add {DSP48E2_X4Y0:DSP48E2_X10Y95}
resize_pblock [get_pblocks slot3] -add {RAMB18_X0Y0:RAMB18_X0Y95}
resize_pblock [get_pblocks slot3] -add {RAMB36_X0Y0:RAMB36_X0Y47}
set_property SNAPPING_MODE ON [get_pblocks slot3]
set_property IS_SOFT FALSE [get_pblocks slot3]
set_property CONTAIN_ROUTING true [get_pblocks slot3]
