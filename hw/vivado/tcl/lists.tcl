# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
# Reads `.f` lists, as sim/eddy_sim/filelist.py does: a source, a header or a data file a line, +incdir+FOLDER for all
# headers below a folder, or -f and another list; paths from the list that names them; // and # begin a comment; a file
# that is reached twice is given once.
set header_suffixes {.svh .vh}
set data_suffixes {.mem .dat .hex .bin .rom .txt .data}

proc entries {list} {
  set found {}
  foreach line [split [text_of $list] "\n"] {
    set words [regexp -all -inline {\S+} [regsub {(//|#).*} $line ""]]
    if {[llength $words] == 0} continue
    set first [lindex $words 0]
    if {$first in {-f -F}} {
      lappend found {*}[entries [beside $list [lindex $words 1]]]
    } elseif {[string match "+incdir+*" $first]} {
      lappend found {*}[headers_below [beside $list [string range $first 8 end]]]
    } else {
      lappend found [beside $list $first]
    }
  }
  return $found
}

proc text_of {file} {
  set handle [open $file]
  set text [read $handle]
  close $handle
  return $text
}

proc beside {list path} { return [file normalize [file join [file dirname $list] $path]] }

proc headers_below {folder} {
  global header_suffixes
  set found {}
  foreach path [lsort [glob -nocomplain -directory $folder *]] {
    if {[file isdirectory $path]} {
      lappend found {*}[headers_below $path]
    } elseif {[file extension $path] in $header_suffixes} {
      lappend found $path
    }
  }
  return $found
}

proc files_of {list} {
  set once {}
  foreach file [entries [file normalize $list]] {
    if {$file ni $once} { lappend once $file }
  }
  return $once
}

# The folders in which headers are found: their own, and those from which a source names them with folders.
proc include_folders {files headers} {
  set folders {}
  foreach header $headers { lappend folders [file dirname $header] }
  if {[llength $headers]} {
    foreach file $files {
      foreach {all name} [regexp -all -inline -line {^[ \t]*`include\s+"([^"]+/[^"]+)"} [text_of $file]] {
        foreach header $headers {
          if {[string match "*/$name" $header]} {
            lappend folders [string range $header 0 end-[expr {[string length $name] + 1}]]
          }
        }
      }
    }
  }
  return [lsort -unique $folders]
}

# Gives a list to the synthesizer: sources in order, `.v` as Verilog, data files from the folder it runs in; answers the
# folders of headers. A memory whose file was not found would be synthesized with zeros: build.tcl makes that an error.
proc read_list {list} {
  global header_suffixes data_suffixes
  set headers {}
  set sources {}
  foreach file [files_of $list] {
    set suffix [file extension $file]
    if {$suffix in $header_suffixes} {
      lappend headers $file
    } elseif {$suffix in $data_suffixes} {
      file copy -force $file [file tail $file]
      if {$suffix in {.mem .dat}} { read_mem [file tail $file] }
    } else {
      lappend sources $file
      if {$suffix eq ".v"} { read_verilog $file } else { read_verilog -sv $file }
    }
  }
  return [include_folders [concat $sources $headers] $headers]
}
