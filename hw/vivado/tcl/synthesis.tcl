# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# Each part is synthesized once: the static part with slots as black boxes, every module out of context.
proc make_slot_clock {part mhz} {
  create_ip -name clk_wiz -vendor xilinx.com -library ip -version 6.0 -module_name slot_clock
  set_property -dict [list CONFIG.PRIM_IN_FREQ $mhz CONFIG.PRIM_SOURCE No_buffer CONFIG.PRIMITIVE MMCM CONFIG.USE_DYN_RECONFIG true \
    CONFIG.INTERFACE_SELECTION Enable_AXI CONFIG.CLKOUT1_REQUESTED_OUT_FREQ 100.000 CONFIG.USE_RESET false] [get_ips slot_clock]
  generate_target all [get_ips slot_clock]
  synth_ip [get_ips slot_clock]
}

# The configuration port's: twice the shell's. It stands still until it is locked. A PLL will do, as it is never set again; a
# device has an MMCM a clock tile, and the slots want those.
proc make_port_clock {part mhz} {
  create_ip -name clk_wiz -vendor xilinx.com -library ip -version 6.0 -module_name port_clock
  set_property -dict [list CONFIG.PRIM_IN_FREQ $mhz CONFIG.PRIM_SOURCE No_buffer CONFIG.PRIMITIVE PLL CONFIG.USE_RESET false CONFIG.USE_LOCKED false \
    CONFIG.USE_SAFE_CLOCK_STARTUP true CONFIG.CLKOUT1_REQUESTED_OUT_FREQ [expr {2 * $mhz}]] [get_ips port_clock]
  generate_target all [get_ips port_clock]
  synth_ip [get_ips port_clock]
}

proc synthesize_static {} {
  global root board part shell_mhz static_list identity_of
  create_project -in_memory -part $part
  make_slot_clock $part $shell_mhz
  make_port_clock $part $shell_mhz
  set folders [read_list $root/$static_list]
  synth_design -top $board -part $part -include_dirs $folders -verilog_define SYNTHESIS=1 -generic BuildHash=64'h$identity_of(static)
  write_checkpoint -force static_synth.dcp
  close_project
}

# In a folder of its own: data files are found by their names, and another module's may have the same.
proc synthesize_module {name top list parameters} {
  global root part identity_of
  set above [pwd]
  file delete -force modules/$name
  file mkdir modules/$name
  cd modules/$name
  create_project -in_memory -part $part
  set folders [read_list $root/$list]
  set generics [list -generic BuildHash=64'h$identity_of($name)]
  foreach parameter $parameters { lappend generics -generic $parameter }
  synth_design -mode out_of_context -top $top -part $part -include_dirs $folders -verilog_define SYNTHESIS=1 {*}$generics
  write_checkpoint -force ../$name.dcp
  close_project
  cd $above
}
