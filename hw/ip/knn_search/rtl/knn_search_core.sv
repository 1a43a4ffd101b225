// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Finds the four nearest training digits of every digit, `Lanes` digits at a time.
///
/// The stream brings the training set, which is kept in block RAM, then the digits. A group of
/// `Lanes` digits sweeps the training set at one training digit a cycle, then leaves two words a
/// digit: four 32-bit records {distance, index}, nearest first.
module knn_search_core #(
  parameter int unsigned Lanes = 4,
  /// Training digits held; a power of two.
  parameter int unsigned MaxTraining = 2048,
  localparam int unsigned TrainWidth = $clog2(MaxTraining)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Training digits and digits; stable while a run lasts.
  input  logic [TrainWidth:0] training_i,
  input  logic [15:0]         count_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  localparam int unsigned LaneWidth = $clog2(Lanes);
  /// Cycles from the last address to the last insertion.
  localparam logic [2:0] DrainCycles = 3'd4;

  typedef enum logic [2:0] {StTrain, StDigits, StSweep, StDrain, StEmit} state_e;
  state_e state_q;

  (* ram_style = "block" *) logic [63:0] mem_q [MaxTraining];
  logic [63:0] train_q;
  logic [TrainWidth:0] at_q, sweep_q;
  logic sweep_valid_q;
  logic [15:0] left_q;
  logic [LaneWidth:0] lane_q, loaded_q;
  logic half_q, take, last_train, last_lane, sweep_end;
  logic [2:0] drain_q;
  logic [Lanes-1:0][3:0][31:0] nearest;
  logic [3:0][31:0] chosen;

  assign in_ready_o  = state_q == StTrain || state_q == StDigits;
  assign take        = in_valid_i && in_ready_o;
  assign last_train  = at_q == training_i - 1'b1;
  assign last_lane   = left_q == 16'd1 || lane_q == (LaneWidth+1)'(Lanes - 1);
  assign sweep_end   = state_q == StSweep && last_train;
  assign out_valid_o = state_q == StEmit;
  assign chosen      = nearest[lane_q[LaneWidth-1:0]];
  assign out_data_o  = half_q ? {chosen[3], chosen[2]} : {chosen[1], chosen[0]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q  <= StTrain;
      at_q     <= '0;
      left_q   <= count_i;
      lane_q   <= '0;
      loaded_q <= '0;
      half_q   <= 1'b0;
      drain_q  <= '0;
    end else begin
      unique case (state_q)
        StTrain: if (take) begin
          at_q <= last_train ? '0 : at_q + 1'b1;
          if (last_train) state_q <= StDigits;
        end
        StDigits: if (take) begin
          left_q   <= left_q - 1'b1;
          lane_q   <= lane_q + 1'b1;
          loaded_q <= lane_q + 1'b1;
          if (last_lane) state_q <= StSweep;
        end
        StSweep: begin
          at_q    <= last_train ? '0 : at_q + 1'b1;
          drain_q <= DrainCycles;
          if (sweep_end) state_q <= StDrain;
        end
        StDrain: begin
          drain_q <= drain_q - 1'b1;
          lane_q  <= '0;
          if (drain_q == '0) state_q <= StEmit;
        end
        default: if (out_ready_i) begin
          half_q <= !half_q;
          if (half_q) begin
            lane_q <= lane_q + 1'b1;
            if (lane_q + 1'b1 == loaded_q) begin
              lane_q  <= '0;
              state_q <= StDigits;
            end
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (take && state_q == StTrain) mem_q[at_q[TrainWidth-1:0]] <= in_data_i;
    train_q <= mem_q[at_q[TrainWidth-1:0]];
    sweep_q <= at_q;
    sweep_valid_q <= state_q == StSweep;
  end

  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    knn_search_lane u_lane (
      .clk_i,
      .load_i(take && state_q == StDigits && lane_q == (LaneWidth+1)'(i)), .digit_i(in_data_i),
      .valid_i(sweep_valid_q), .index_i(16'(sweep_q)), .train_i(train_q),
      .nearest_o(nearest[i])
    );
  end

endmodule
