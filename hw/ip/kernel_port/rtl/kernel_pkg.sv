// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the halves of a kernel's memory port say to each other.
package kernel_pkg;

  /// A kernel's burst, as its data is cut by.
  typedef struct packed {
    /// Where it begins, within 128 bytes.
    logic [6:0] at;
    /// A beat has 2**size bytes.
    logic [2:0] size;
    /// Beats, less one.
    logic [7:0] len;
    /// Every beat is at the same address.
    logic       fixed;
    /// Nothing of it goes to memory; it is answered SLVERR.
    logic       refused;
  } burst_t;

  /// How a beat's bytes lie in words of 64 bits: the bits of the word's number that count within a beat.
  function automatic logic [3:0] words_mask(logic [2:0] size);
    unique case (size)
      3'd4: return 4'b0001;
      3'd5: return 4'b0011;
      3'd6: return 4'b0111;
      3'd7: return 4'b1111;
      default: return 4'b0000;
    endcase
  endfunction

  /// Bytes of a beat toward memory, 2**unit: those of the kernel's, and a word at most.
  function automatic logic [1:0] unit_of(logic [2:0] size);
    return size > 3'd3 ? 2'd3 : size[1:0];
  endfunction

  /// Whether a beat of the kernel ends with its word of this number.
  function automatic logic ends_beat(logic [3:0] word, logic [2:0] size);
    return (word & words_mask(size)) == words_mask(size);
  endfunction

  /// Where the beat toward memory lies that follows the one at `at`, in a burst that does not stay at one address.
  function automatic logic [6:0] next_at(logic [6:0] at, logic [2:0] size);
    return ((at >> unit_of(size)) + 7'd1) << unit_of(size);
  endfunction

endpackage
