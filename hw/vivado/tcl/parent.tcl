# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# The parent run: the static part is placed and routed with the first module of each slot, then locked. From it come an
# abstract shell for each slot, and the full image, whose slots are grey boxes.
proc implement {what} {
  opt_design
  place_design
  phys_opt_design
  route_design
  check_timing_met $what
}

proc run_parent {} {
  global folder slots
  open_checkpoint static_synth.dcp
  read_xdc $folder/floorplan.xdc
  foreach slot $slots {
    lassign $slot index cell mhz names
    read_checkpoint -cell [get_cells $cell] modules/[lindex $names 0].dcp
  }
  read_xdc $folder/timing.xdc
  implement parent
  write_checkpoint -force parent.dcp
  foreach slot $slots {
    lassign $slot index cell mhz names
    write_abstract_shell -force -cell [get_cells $cell] abstract_slot$index.dcp
  }
  run_grey_boxes
}

proc run_grey_boxes {} {
  global slots
  foreach slot $slots { update_design -cell [get_cells [lindex $slot 1]] -black_box }
  lock_design -level routing
  foreach slot $slots { update_design -cell [get_cells [lindex $slot 1]] -buffer_ports }
  place_design
  route_design
  check_timing_met grey
  write_checkpoint -force grey.dcp
  write_bitstream -force -no_partial_bitfile eddy.bit
  close_design
  pr_verify -full_check -initial parent.dcp -additional grey.dcp -file grey.verify.rpt
}
