// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whether two addresses of words, or of what is larger, are the same, in two levels of logic: groups of three bits, and a carry over those.
package gpu_lines_pkg;
  typedef logic [29:0] place_t;

  localparam int unsigned Groups = 10;

  function automatic logic same(place_t a, place_t b);
`ifdef SYNTHESIS
    return carried(a, b);
`else
    return a == b;
`endif
  endfunction

  /// What `same` is in gates; proved to be equality (hw/formal/gpu_lines_proof.sv).
  function automatic logic carried(place_t a, place_t b);
    place_t apart;
    logic [Groups-1:0] group;
    logic [Groups:0] sum;
    apart = a ^ b;
    for (int g = 0; g < int'(Groups); g++) group[g] = apart[3*g+:3] != '0;
    // All ones and anything but nothing carry.
    sum = {1'b0, {Groups{1'b1}}} + {1'b0, group};
    return !sum[Groups];
  endfunction

endpackage
