// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the halves of a kernel's memory port say to each other.
package kernel_pkg;

  import eddy_pkg::*;

  /// Bits of the number of a word, which is as wide as the slot's port, within the widest beat.
  parameter int unsigned WordBits = 7 - BeatBits;

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

  /// How a beat's bytes lie in words: the bits of the word's number that count within a beat.
  function automatic logic [WordBits-1:0] words_mask(logic [2:0] size);
    unique case (size)
      3'd4: return WordBits'(4'b0001 >> (BeatBits - 3));
      3'd5: return WordBits'(4'b0011 >> (BeatBits - 3));
      3'd6: return WordBits'(4'b0111 >> (BeatBits - 3));
      3'd7: return WordBits'(4'b1111 >> (BeatBits - 3));
      default: return '0;
    endcase
  endfunction

  /// Bytes of a beat toward memory, 2**unit: those of the kernel's, and a word at most.
  function automatic logic [SizeWidth-1:0] unit_of(logic [2:0] size);
    return size > 3'(BeatBits) ? SizeWidth'(BeatBits) : size[SizeWidth-1:0];
  endfunction

  /// Whether a beat of the kernel ends with its word of this number.
  function automatic logic ends_beat(logic [WordBits-1:0] word, logic [2:0] size);
    return (word & words_mask(size)) == words_mask(size);
  endfunction

  /// Where the beat toward memory lies that follows the one at `at`, in a burst that does not stay at one address.
  function automatic logic [6:0] next_at(logic [6:0] at, logic [2:0] size);
    return ((at >> unit_of(size)) + 7'd1) << unit_of(size);
  endfunction

endpackage
