// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Lines and their words: whether two addresses are the same, and where in a data cache's banks a word of a line lies.
package gpu_lines_pkg;
  typedef logic [29:0] place_t;

  localparam int unsigned Groups = 10;

  /// Whether two addresses of words, or of what is larger, are the same, in two levels of logic: groups of three bits, and a carry over those.
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

  /// The bank of a word of a line, of `banks` banks, a power of two from 2 to 16.
  ///
  /// Part p of a line (as many words as there are banks) begins p banks further, by exclusive or: so words in a row, and
  /// words 2, 4, ... apart, lie in different banks.
  function automatic logic [3:0] bank_of(logic [3:0] word, int unsigned banks);
    unique case (banks)
      2:       return {3'd0, ^word};
      4:       return {2'd0, word[1:0] ^ word[3:2]};
      8:       return {1'b0, word[2:1], word[0] ^ word[3]};
      default: return word;
    endcase
  endfunction

  /// The part of its line that a word lies in: each part has a word in every bank.
  function automatic logic [3:0] part_of(logic [3:0] word, int unsigned banks);
    return word >> $clog2(banks);
  endfunction

endpackage
