/// A convolution layer of 8-bit integers, or a slice of its output channels: convolve, add a bias, shift, ReLU, pool 2x2.
///
/// Arguments: `map` (activations), `weights` (biases and weights of all the layer's groups), `out` (all the layer's
/// groups), 8-byte aligned, laid out as `conv_pool_core` says; `channels`, `height`, `width` of the map; `kernel`,
/// `stride`, `padding`; `rows` and `columns` of the output; `first` and `groups`: which groups of eight output channels;
/// `shift`, `relu`, `pool`: of the result.
module conv_pool #(
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
  localparam int unsigned NumScalars = 13;
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

  localparam int unsigned MapWords = 4096;
  localparam int unsigned MaxTaps = 1024;

  logic [31:0] channels, height, width, kernel, stride, padding, rows, columns, first, groups, shift, relu, pool;
  assign {pool, relu, shift, groups, first, columns, rows, padding, stride, kernel, width, height, channels} = scalars;

  // Products of numbers that were checked to be small.
  logic [15:0] pixels, plane_words;
  logic [24:0] map_bytes;
  logic [15:0] taps;
  logic [BeatsWidth-1:0] group_beats;
  assign pixels      = 16'(height[7:0]) * 16'(width[7:0]);
  assign map_bytes   = 25'(pixels) * 25'(channels[8:0]);
  assign taps        = 16'(8'(kernel[3:0]) * 8'(kernel[3:0])) * 16'(channels[8:0]);
  assign group_beats = BeatsWidth'(taps) + BeatsWidth'(4);
  assign plane_words = 16'(rows[7:0]) * 16'(columns[7:0]);

  // The last kernel ends within the padded map.
  function automatic logic fits(logic [7:0] outputs, logic [7:0] size);
    logic [8:0] last;
    last = (pool[0] ? {outputs, 1'b0} : {1'b0, outputs}) - 9'd1;
    return 12'(last) * 12'(stride[2:0]) + 12'(kernel[3:0]) <= 12'(size) + 12'({padding[2:0], 1'b0});
  endfunction

  logic map_legal, kernel_legal, slice_legal, fit;
  assign map_legal = height != '0 && height <= 32'd128 && width != '0 && width <= 32'd128 && channels != '0 &&
                     (channels < 32'd8 || (channels <= 32'd256 && channels[2:0] == '0)) &&
                     map_bytes <= 25'(8 * MapWords) && map_bytes[2:0] == '0;
  assign kernel_legal = kernel != '0 && kernel <= 32'd11 && stride != '0 && stride <= 32'd4 && padding < kernel &&
                        padding <= 32'd5 && taps <= 16'(MaxTaps);
  assign slice_legal = rows != '0 && rows <= 32'd128 && columns != '0 && columns <= 32'd128 && first <= 32'd31 &&
                       groups != '0 && groups <= 32'd32 && shift <= 32'd24 && relu <= 32'd1 && pool <= 32'd1;
  assign fit   = fits(rows[7:0], height[7:0]) && fits(columns[7:0], width[7:0]);
  assign legal = map_legal && kernel_legal && slice_legal && fit;

  assign read_addr[0]   = pointers[0][39:0];
  assign read_beats[0]  = BeatsWidth'(map_bytes[24:3]);
  assign read_addr[1]   = pointers[1][39:0] + {13'd0, group_beats * BeatsWidth'(first[4:0]), 3'd0};
  assign read_beats[1]  = group_beats * BeatsWidth'(groups[5:0]);
  assign write_addr[0]  = pointers[2][39:0] + {13'd0, BeatsWidth'(plane_words) * BeatsWidth'(first[4:0]), 3'd0};
  assign write_beats[0] = BeatsWidth'(plane_words) * BeatsWidth'(groups[5:0]);

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

  conv_pool_core #(.MapWords(MapWords), .MaxTaps(MaxTaps)) u_core (
    .clk_i, .rst_ni, .clear_i(start),
    .channels_i(channels[8:0]), .height_i(height[7:0]), .width_i(width[7:0]),
    .kernel_i(kernel[3:0]), .stride_i(stride[2:0]), .padding_i(padding[2:0]),
    .rows_i(rows[7:0]), .columns_i(columns[7:0]), .groups_i(groups[5:0]),
    .shift_i(shift[4:0]), .relu_i(relu[0]), .pool_i(pool[0]),
    .map_words_i(map_bytes[$clog2(MapWords)+3:3]), .taps_i(taps[$clog2(MaxTaps):0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

  // Pointers were checked to lie within the 40 address bits.
  logic unused;
  assign unused = ^pointers;

endmodule
