// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Sizes of the frames that the modules of optical flow take.
package flow_pkg;

  /// Largest width and height, in pixels.
  parameter int unsigned MaxSide = 128;
  /// Width of a position or a size.
  parameter int unsigned SideWidth = $clog2(MaxSide + 1);
  /// Width of a count of a frame's pixels.
  parameter int unsigned AreaWidth = 2 * SideWidth - 1;

  /// Whether a side is a multiple of 8 from 8 to `MaxSide`.
  function automatic logic side_legal(logic [31:0] side);
    return side != '0 && side <= 32'(MaxSide) && side[2:0] == '0;
  endfunction

  /// Pixels of a frame.
  function automatic logic [AreaWidth-1:0] area(logic [SideWidth-1:0] width, logic [SideWidth-1:0] height);
    return AreaWidth'(width) * AreaWidth'(height);
  endfunction

  /// Whether a position has less than `margin` neighbours on one of its sides.
  function automatic logic near_end(logic [SideWidth-1:0] at, logic [SideWidth-1:0] side,
                                    logic [SideWidth-1:0] margin);
    return at < margin || at >= side - margin;
  endfunction

endpackage
