/// Whether two addresses of lines are the same, in two levels of logic: groups of three bits, and a carry over those.
package gpu_lines_pkg;
  import gpu_pkg::*;

  localparam int unsigned Groups = (LineAddrWidth + 2) / 3;

  function automatic logic same(logic [LineAddrWidth-1:0] a, logic [LineAddrWidth-1:0] b);
    logic [3*Groups-1:0] apart;
    logic [Groups-1:0] group;
    logic [Groups:0] sum;
    apart = (3 * Groups)'(a ^ b);
    for (int g = 0; g < int'(Groups); g++) group[g] = apart[3*g+:3] != '0;
    // All ones and anything but nothing carry.
    sum = {1'b0, {Groups{1'b1}}} + {1'b0, group};
    return !sum[Groups];
  endfunction

endpackage
