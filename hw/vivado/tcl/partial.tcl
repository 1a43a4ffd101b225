# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# One run for each slot and module, against the slot's abstract shell: nothing else is placed or routed again.
proc run_partial {index cell name} {
  set what ${name}__slot$index
  open_checkpoint abstract_slot$index.dcp
  read_checkpoint -cell [get_cells $cell] modules/$name.dcp
  implement $what
  write_checkpoint -force $what.dcp
  write_bitstream -force -cell [get_cells $cell] $what.bit
  close_design
  pr_verify -full_check -initial abstract_slot$index.dcp -additional $what.dcp -file $what.verify.rpt
}
