# Reads `.f` lists, as sim/eddy_sim/filelist.py does: a source or header a line, or -f and another list; paths from the
# list that names them; // and # begin a comment; a file that is reached twice is given once.
proc entries {list} {
  set handle [open $list]
  set found {}
  foreach line [split [read $handle] "\n"] {
    set words [regexp -all -inline {\S+} [regsub {(//|#).*} $line ""]]
    if {[llength $words] == 0} continue
    if {[lindex $words 0] in {-f -F}} {
      lappend found {*}[entries [file normalize [file join [file dirname $list] [lindex $words 1]]]]
    } else {
      lappend found [file normalize [file join [file dirname $list] [lindex $words 0]]]
    }
  }
  close $handle
  return $found
}

proc files_of {list} {
  set once {}
  foreach file [entries [file normalize $list]] {
    if {$file ni $once} { lappend once $file }
  }
  return $once
}

# Gives a list to the synthesizer: sources in order, folders of headers beside.
proc read_list {list} {
  set folders {}
  foreach file [files_of $list] {
    if {[file extension $file] eq ".svh"} {
      if {[file dirname $file] ni $folders} { lappend folders [file dirname $file] }
    } else {
      read_verilog -sv $file
    }
  }
  return $folders
}
