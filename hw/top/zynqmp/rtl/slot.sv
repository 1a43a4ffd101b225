/// A slot as the static region sees it: ports, and nothing inside. Each instance is a reconfigurable partition.
// So nothing drives its outputs, and nothing reads its inputs.
// verilator lint_off UNDRIVEN
// verilator lint_off UNUSEDSIGNAL
(* black_box = "yes" *)
module slot (
  `include "slot_ports.svh"
);
endmodule
// verilator lint_on UNUSEDSIGNAL
// verilator lint_on UNDRIVEN
