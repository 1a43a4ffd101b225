// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The fabric of a ZCU104, with the slots of its profile.
module zcu104 #(
  /// Hash of sources and toolchain, which the build sets.
  parameter logic [63:0] BuildHash = '0
) ();

  zynqmp #(
    .NumSlots(4),
    .BuildHash(BuildHash),
    .CacheBytes(0),
    .Engine(1),
    .MemRequests(8),
    .MemBeats(32)
  ) u_zynqmp ();

endmodule
