# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# Builds a board, from its generated folder: tclsh or vivado -source build.tcl -tclargs ROOT BOARD IDENTITIES [MODULE ...]
# IDENTITIES is a file of `identity PART HASH`: what the static part's registers and each module's identity block read.
# With modules named, only those are built, against the abstract shells of an earlier build of the whole.
lassign $argv root board_name identities
set only [lrange $argv 3 end]
set folder $root/hw/vivado/$board_name
set modules {}
set slots {}
proc module {name top list parameters} { lappend ::modules [list $name $top $list $parameters] }
proc slot {index cell mhz names} { lappend ::slots [list $index $cell $mhz $names] }
foreach file {lists checks synthesis parent partial} { source $root/hw/vivado/tcl/$file.tcl }
source $folder/runs.tcl
proc identity {name hash} { set ::identity_of($name) $hash }
source $identities

# A data file that $readmemh does not find is no more than a critical warning otherwise, and its memory holds zeros.
set_msg_config -id {Synth 8-4445} -new_severity ERROR

file mkdir modules
foreach entry $modules {
  if {[llength $only] == 0 || [lindex $entry 0] in $only} { synthesize_module {*}$entry }
}
if {[llength $only] == 0} {
  synthesize_static
  run_parent
}
foreach slot $slots {
  lassign $slot index cell mhz names
  foreach name $names {
    if {[llength $only] == 0 || $name in $only} { run_partial $index $cell $name }
  }
}
