# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# Written by tools/board.py from hw/vivado/boards.yaml; edit that.
set_property HD.RECONFIGURABLE true [get_cells {u_zynqmp/gen_slots[0].u_slot}]
create_pblock slot0
add_cells_to_pblock [get_pblocks slot0] [get_cells {u_zynqmp/gen_slots[0].u_slot}]
resize_pblock [get_pblocks slot0] -add {CLOCKREGION_X2Y0:CLOCKREGION_X3Y0}
set_property SNAPPING_MODE ON [get_pblocks slot0]
set_property IS_SOFT FALSE [get_pblocks slot0]
set_property CONTAIN_ROUTING true [get_pblocks slot0]
set_property HD.RECONFIGURABLE true [get_cells {u_zynqmp/gen_slots[1].u_slot}]
create_pblock slot1
add_cells_to_pblock [get_pblocks slot1] [get_cells {u_zynqmp/gen_slots[1].u_slot}]
resize_pblock [get_pblocks slot1] -add {CLOCKREGION_X2Y1:CLOCKREGION_X3Y1}
set_property SNAPPING_MODE ON [get_pblocks slot1]
set_property IS_SOFT FALSE [get_pblocks slot1]
set_property CONTAIN_ROUTING true [get_pblocks slot1]
set_property HD.RECONFIGURABLE true [get_cells {u_zynqmp/gen_slots[2].u_slot}]
create_pblock slot2
add_cells_to_pblock [get_pblocks slot2] [get_cells {u_zynqmp/gen_slots[2].u_slot}]
resize_pblock [get_pblocks slot2] -add {CLOCKREGION_X1Y2:CLOCKREGION_X3Y3}
set_property SNAPPING_MODE ON [get_pblocks slot2]
set_property IS_SOFT FALSE [get_pblocks slot2]
set_property CONTAIN_ROUTING true [get_pblocks slot2]
set_property HD.RECONFIGURABLE true [get_cells {u_zynqmp/gen_slots[3].u_slot}]
create_pblock slot3
add_cells_to_pblock [get_pblocks slot3] [get_cells {u_zynqmp/gen_slots[3].u_slot}]
resize_pblock [get_pblocks slot3] -add {CLOCKREGION_X1Y4:CLOCKREGION_X3Y5}
set_property SNAPPING_MODE ON [get_pblocks slot3]
set_property IS_SOFT FALSE [get_pblocks slot3]
set_property CONTAIN_ROUTING true [get_pblocks slot3]
