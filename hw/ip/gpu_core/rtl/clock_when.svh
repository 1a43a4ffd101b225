// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The rising edges of a clock that a block's registers look at: `always_ff @(`EDDY_RISES(clk_i, awake)) ...`.
///
/// In gates all of them. A simulation goes without those at which the condition does not hold, and without all that only
/// leads to such registers; so the condition must hold wherever one of them could change, which is asserted beside it.
`ifndef EDDY_CLOCK_WHEN_SVH
`define EDDY_CLOCK_WHEN_SVH
`ifdef SYNTHESIS
`define EDDY_RISES(clk, condition) posedge clk
`else
`define EDDY_RISES(clk, condition) posedge clk iff (condition)
`endif
`endif
