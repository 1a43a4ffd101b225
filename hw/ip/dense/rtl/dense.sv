/// One fully connected layer of 8-bit integers, or a slice of its outputs, or two such layers one after the other.
///
/// Arguments: `in` (activations, in the order of the weights), `weights` (for every eight outputs of the layer four words
/// of biases and one word of eight weights an input; then those of the second layer), `out` (all the layer's outputs),
/// 8-byte aligned; `inputs` (8 to 4096, a multiple of 8); `first` and `groups`: which groups of eight outputs; `shift`
/// and `relu` of the results; `groups2` and `shift2`: of a second layer over those results, which has no ReLU; 0 groups:
/// there is none. Two layers are computed whole: `first` is 0.
module dense #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  logic [15:0] s_axil_awaddr,
  input  logic [2:0]  s_axil_awprot,
  input  logic        s_axil_awvalid,
  output logic        s_axil_awready,
  input  logic [31:0] s_axil_wdata,
  input  logic [3:0]  s_axil_wstrb,
  input  logic        s_axil_wvalid,
  output logic        s_axil_wready,
  output logic [1:0]  s_axil_bresp,
  output logic        s_axil_bvalid,
  input  logic        s_axil_bready,
  input  logic [15:0] s_axil_araddr,
  input  logic [2:0]  s_axil_arprot,
  input  logic        s_axil_arvalid,
  output logic        s_axil_arready,
  output logic [31:0] s_axil_rdata,
  output logic [1:0]  s_axil_rresp,
  output logic        s_axil_rvalid,
  input  logic        s_axil_rready,

  output logic [3:0]  m_axi_awid,
  output logic [39:0] m_axi_awaddr,
  output logic [7:0]  m_axi_awlen,
  output logic [2:0]  m_axi_awsize,
  output logic [1:0]  m_axi_awburst,
  output logic [3:0]  m_axi_awcache,
  output logic [2:0]  m_axi_awprot,
  output logic [3:0]  m_axi_awqos,
  output logic [3:0]  m_axi_awuser,
  output logic        m_axi_awvalid,
  input  logic        m_axi_awready,
  output logic [63:0] m_axi_wdata,
  output logic [7:0]  m_axi_wstrb,
  output logic        m_axi_wlast,
  output logic        m_axi_wvalid,
  input  logic        m_axi_wready,
  input  logic [3:0]  m_axi_bid,
  input  logic [1:0]  m_axi_bresp,
  input  logic        m_axi_bvalid,
  output logic        m_axi_bready,
  output logic [3:0]  m_axi_arid,
  output logic [39:0] m_axi_araddr,
  output logic [7:0]  m_axi_arlen,
  output logic [2:0]  m_axi_arsize,
  output logic [1:0]  m_axi_arburst,
  output logic [3:0]  m_axi_arcache,
  output logic [2:0]  m_axi_arprot,
  output logic [3:0]  m_axi_arqos,
  output logic [3:0]  m_axi_aruser,
  output logic        m_axi_arvalid,
  input  logic        m_axi_arready,
  input  logic [3:0]  m_axi_rid,
  input  logic [63:0] m_axi_rdata,
  input  logic [1:0]  m_axi_rresp,
  input  logic        m_axi_rlast,
  input  logic        m_axi_rvalid,
  output logic        m_axi_rready,

  output logic irq_o
);

  localparam int unsigned NumPointers = 3;
  localparam int unsigned NumScalars = 7;
  localparam int unsigned NumReads = 2;
  localparam int unsigned NumWrites = 1;
  localparam int unsigned BeatsWidth = 24;

  logic start, legal;
  logic [NumPointers-1:0][63:0] pointers;
  logic [NumScalars-1:0][31:0] scalars;
  logic [NumReads-1:0][39:0] read_addr;
  logic [NumReads-1:0][BeatsWidth-1:0] read_beats;
  logic [NumWrites-1:0][39:0] write_addr;
  logic [NumWrites-1:0][BeatsWidth-1:0] write_beats;
  logic in_valid, in_ready, out_valid, out_ready;
  logic [63:0] in_data, out_data;

  localparam int unsigned MaxInputs = 4096;
  localparam int unsigned MaxGroups = 64;

  logic [31:0] inputs, first, groups, shift, relu, groups2, shift2;
  assign {shift2, groups2, relu, shift, groups, first, inputs} = scalars;

  logic [BeatsWidth-1:0] group_beats, group2_beats;
  assign group_beats  = BeatsWidth'(inputs[12:0]) + BeatsWidth'(4);
  assign group2_beats = BeatsWidth'({groups[6:0], 3'd0}) + BeatsWidth'(4);

  assign legal = inputs != '0 && inputs <= 32'(MaxInputs) && inputs[2:0] == '0 &&
                 groups != '0 && groups <= 32'(MaxGroups) && first < 32'(MaxGroups) &&
                 groups2 <= 32'(MaxGroups) && (groups2 == '0 || first == '0) &&
                 shift <= 32'd24 && shift2 <= 32'd24 && relu <= 32'd1;

  assign read_addr[0]   = pointers[0][39:0];
  assign read_beats[0]  = BeatsWidth'(inputs[12:3]);
  assign read_addr[1]   = pointers[1][39:0] + {13'd0, group_beats * BeatsWidth'(first[5:0]), 3'd0};
  assign read_beats[1]  = group_beats * BeatsWidth'(groups[6:0]) + group2_beats * BeatsWidth'(groups2[6:0]);
  assign write_addr[0]  = pointers[2][39:0] + {31'd0, first[5:0], 3'd0};
  assign write_beats[0] = groups2 == '0 ? BeatsWidth'(groups[6:0]) : BeatsWidth'(groups2[6:0]);

  hls_wrapper #(
    .NumPointers(NumPointers), .NumScalars(NumScalars), .NumReads(NumReads), .NumWrites(NumWrites),
    .BeatsWidth(BeatsWidth), .BuildHash(BuildHash)
  ) u_wrapper (
    .start_o(start), .pointers_o(pointers), .scalars_o(scalars), .legal_i(legal),
    .read_addr_i(read_addr), .read_beats_i(read_beats),
    .write_addr_i(write_addr), .write_beats_i(write_beats),
    .in_valid_o(in_valid), .in_ready_i(in_ready), .in_data_o(in_data),
    .out_valid_i(out_valid), .out_ready_o(out_ready), .out_data_i(out_data),
    // The slot's ports, by name.
    .*
  );

  dense_core #(.MaxInputs(MaxInputs), .MaxGroups(MaxGroups)) u_core (
    .clk_i, .rst_ni, .clear_i(start),
    .inputs_i(inputs[12:0]), .groups_i(groups[6:0]), .shift_i(shift[4:0]), .relu_i(relu[0]),
    .groups2_i(groups2[6:0]), .shift2_i(shift2[4:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

  // Pointers were checked to lie within the 40 address bits.
  logic unused;
  assign unused = ^pointers;

endmodule
