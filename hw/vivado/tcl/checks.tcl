# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# What a routed design must pass before anything is written of it.
proc check_timing_met {what} {
  report_timing_summary -file $what.timing.rpt
  foreach {kind delay} {setup max hold min} {
    set paths [get_timing_paths -delay_type $delay -max_paths 1 -nworst 1]
    if {[llength $paths] == 0} { error "$what: no $kind path is timed; are the clocks constrained?" }
    set slack [get_property SLACK [lindex $paths 0]]
    if {$slack eq "" || $slack < 0} { error "$what: $kind slack is $slack ns; see $what.timing.rpt" }
  }
  report_cdc -file $what.cdc.rpt
  report_drc -file $what.drc.rpt
}
