// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Sizes and types that the parts of the shared system cache agree on.
package system_cache_pkg;
  import eddy_pkg::*;

  /// A line has 64 bytes, 8 words of memory's width.
  parameter int unsigned LineShift = 6;
  parameter int unsigned PageShift = 12;
  parameter int unsigned PageWidth = AddrWidth - PageShift;
  /// Ids a fetch may use, in the lower four bits.
  parameter int unsigned MaxFetches = 16;

  /// Number of a line, of a word in it, of a 4 KiB page, of a line in its page.
  typedef logic [AddrWidth-LineShift-1:0] line_t;
  typedef logic [2:0] word_t;
  typedef logic [PageWidth-1:0] page_t;
  typedef logic [PageShift-LineShift-1:0] place_t;

  /// The lines a burst touches; a burst stays in one page.
  typedef struct packed {
    page_t  page;
    place_t first;
    place_t last;
  } extent_t;

  /// One beat of an answer, before its data.
  typedef struct packed {
    logic [7:0] id;
    word_t      word;
    logic       last;
    /// The last beat out of its line, for now.
    logic       leaves;
  } beat_t;

  function automatic logic covers(extent_t extent, line_t line);
    return extent.page == line[$bits(line_t)-1:$bits(place_t)]
        && extent.first <= line[$bits(place_t)-1:0] && line[$bits(place_t)-1:0] <= extent.last;
  endfunction

endpackage
