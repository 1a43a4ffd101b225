// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What crosses between the engine's two sides: the shell's clock, and the configuration port's.
package icap_pkg;

  import icap_engine_regs_pkg::*;

  /// To ICAPE3 (UG974).
  typedef struct packed {
    logic        csib;
    logic        rdwrb;
    logic [31:0] i;
  } icape_in_t;

  /// Its lines that say how it is.
  typedef struct packed {
    logic avail;
    logic prdone;
    logic prerror;
  } icape_lines_t;

  /// From ICAPE3.
  typedef struct packed {
    icape_lines_t lines;
    logic [31:0]  o;
  } icape_out_t;

  /// What a beat on its way to the port is.
  typedef enum logic [1:0] {
    /// Two words of the source, the low one first.
    BeatData,
    /// Memory answered with an error.
    BeatError,
    /// The next burst would leave the window.
    BeatOutside,
    /// Nothing of this load comes any more.
    BeatEnd
  } beat_kind_e;

  typedef struct packed {
    beat_kind_e  kind;
    logic [63:0] data;
  } beat_t;

  /// To the port's side: begin a load, or end the one under way.
  typedef struct packed {
    logic        stop;
    logic        compressed;
    logic        rehearse;
    /// The port was left open.
    logic        open;
    logic [23:0] source_words;
    logic [23:0] image_words;
    logic [23:0] timeout;
    logic [31:0] crc;
  } order_t;

  /// How far a load is.
  typedef enum logic [1:0] {
    /// It is under way.
    StageRuns,
    /// It has ended, and the port is closed.
    StageEnded,
    /// Nothing of it is left.
    StageRests
  } stage_e;

  /// From the port's side.
  typedef struct packed {
    stage_e      stage;
    cause_e      cause;
    logic [23:0] left;
    logic [31:0] crc;
    logic [ 3:0] said;
    logic        open;
  } report_t;

endpackage
