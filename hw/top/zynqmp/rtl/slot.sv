// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A slot as the static region sees it: ports, and nothing inside. Each instance is a reconfigurable partition.
(* black_box = "yes" *)
module slot (
  `include "slot_ports.svh"
);
endmodule
