// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// AXI4-Lite and AXI4 as flat signals of ARM's names, written once: as ports, as signals between instances, and as
// connections of the one with the other. `prefix`, `port` and `net` are what names begin with. Each list ends without a comma.
//
// `requests` and `answers` are how ports that the manager drives, and that the subordinate drives, are declared: `output
// logic` and `input logic` at a manager, the other way round at a subordinate, with `[N-1:0]` behind for N at once. `kind`
// is the same for signals. `index` is what follows the name of a net: `[k]` for one of N, or nothing.
`ifndef AXI_PORTS_SVH
`define AXI_PORTS_SVH

// AXI4-Lite, 32 bits of data. Payload and handshakes apart, as one payload may be offered to many.
`define AXIL_PAYLOAD_PORTS(prefix, addr_width, requests) \
  requests [addr_width-1:0] prefix``_awaddr, \
  requests [2:0] prefix``_awprot, \
  requests [31:0] prefix``_wdata, \
  requests [3:0] prefix``_wstrb, \
  requests [addr_width-1:0] prefix``_araddr, \
  requests [2:0] prefix``_arprot

`define AXIL_HANDSHAKE_PORTS(prefix, requests, answers) \
  requests prefix``_awvalid, \
  answers prefix``_awready, \
  requests prefix``_wvalid, \
  answers prefix``_wready, \
  answers [1:0] prefix``_bresp, \
  answers prefix``_bvalid, \
  requests prefix``_bready, \
  requests prefix``_arvalid, \
  answers prefix``_arready, \
  answers [31:0] prefix``_rdata, \
  answers [1:0] prefix``_rresp, \
  answers prefix``_rvalid, \
  requests prefix``_rready

`define AXIL_PORTS(prefix, addr_width, requests, answers) \
  `AXIL_PAYLOAD_PORTS(prefix, addr_width, requests), \
  `AXIL_HANDSHAKE_PORTS(prefix, requests, answers)

`define AXIL_PAYLOAD_NETS(prefix, addr_width, kind) \
  kind [addr_width-1:0] prefix``_awaddr, prefix``_araddr; \
  kind [2:0] prefix``_awprot, prefix``_arprot; \
  kind [31:0] prefix``_wdata; \
  kind [3:0] prefix``_wstrb;

`define AXIL_HANDSHAKE_NETS(prefix, kind) \
  kind prefix``_awvalid, prefix``_awready, prefix``_wvalid, prefix``_wready, prefix``_bvalid, prefix``_bready; \
  kind prefix``_arvalid, prefix``_arready, prefix``_rvalid, prefix``_rready; \
  kind [1:0] prefix``_bresp, prefix``_rresp; \
  kind [31:0] prefix``_rdata;

`define AXIL_NETS(prefix, addr_width, kind) \
  `AXIL_PAYLOAD_NETS(prefix, addr_width, kind) \
  `AXIL_HANDSHAKE_NETS(prefix, kind)

`define AXIL_CONNECT_PAYLOAD(port, net, index) \
  .port``_awaddr(net``_awaddr index), \
  .port``_awprot(net``_awprot index), \
  .port``_wdata(net``_wdata index), \
  .port``_wstrb(net``_wstrb index), \
  .port``_araddr(net``_araddr index), \
  .port``_arprot(net``_arprot index)

`define AXIL_CONNECT_HANDSHAKE(port, net, index) \
  .port``_awvalid(net``_awvalid index), \
  .port``_awready(net``_awready index), \
  .port``_wvalid(net``_wvalid index), \
  .port``_wready(net``_wready index), \
  .port``_bresp(net``_bresp index), \
  .port``_bvalid(net``_bvalid index), \
  .port``_bready(net``_bready index), \
  .port``_arvalid(net``_arvalid index), \
  .port``_arready(net``_arready index), \
  .port``_rdata(net``_rdata index), \
  .port``_rresp(net``_rresp index), \
  .port``_rvalid(net``_rvalid index), \
  .port``_rready(net``_rready index)

`define AXIL_CONNECT(port, net, index) \
  `AXIL_CONNECT_PAYLOAD(port, net, index), \
  `AXIL_CONNECT_HANDSHAKE(port, net, index)

// AXI4, without the attributes, which not every block looks at.
`define AXI_PORTS(prefix, id_width, addr_width, data_width, requests, answers) \
  requests [id_width-1:0] prefix``_awid, \
  requests [addr_width-1:0] prefix``_awaddr, \
  requests [7:0] prefix``_awlen, \
  requests [2:0] prefix``_awsize, \
  requests [1:0] prefix``_awburst, \
  requests prefix``_awvalid, \
  answers prefix``_awready, \
  requests [data_width-1:0] prefix``_wdata, \
  requests [data_width/8-1:0] prefix``_wstrb, \
  requests prefix``_wlast, \
  requests prefix``_wvalid, \
  answers prefix``_wready, \
  answers [id_width-1:0] prefix``_bid, \
  answers [1:0] prefix``_bresp, \
  answers prefix``_bvalid, \
  requests prefix``_bready, \
  requests [id_width-1:0] prefix``_arid, \
  requests [addr_width-1:0] prefix``_araddr, \
  requests [7:0] prefix``_arlen, \
  requests [2:0] prefix``_arsize, \
  requests [1:0] prefix``_arburst, \
  requests prefix``_arvalid, \
  answers prefix``_arready, \
  answers [id_width-1:0] prefix``_rid, \
  answers [data_width-1:0] prefix``_rdata, \
  answers [1:0] prefix``_rresp, \
  answers prefix``_rlast, \
  answers prefix``_rvalid, \
  requests prefix``_rready

`define AXI_ATTRIBUTE_PORTS(prefix, user_width, requests) \
  requests [3:0] prefix``_awcache, \
  requests [2:0] prefix``_awprot, \
  requests [3:0] prefix``_awqos, \
  requests [user_width-1:0] prefix``_awuser, \
  requests [3:0] prefix``_arcache, \
  requests [2:0] prefix``_arprot, \
  requests [3:0] prefix``_arqos, \
  requests [user_width-1:0] prefix``_aruser

`define AXI_NETS(prefix, id_width, addr_width, data_width, kind) \
  kind [id_width-1:0] prefix``_awid, prefix``_bid, prefix``_arid, prefix``_rid; \
  kind [addr_width-1:0] prefix``_awaddr, prefix``_araddr; \
  kind [7:0] prefix``_awlen, prefix``_arlen; \
  kind [2:0] prefix``_awsize, prefix``_arsize; \
  kind [1:0] prefix``_awburst, prefix``_arburst, prefix``_bresp, prefix``_rresp; \
  kind [data_width-1:0] prefix``_wdata, prefix``_rdata; \
  kind [data_width/8-1:0] prefix``_wstrb; \
  kind prefix``_awvalid, prefix``_awready, prefix``_wlast, prefix``_wvalid, prefix``_wready; \
  kind prefix``_bvalid, prefix``_bready, prefix``_arvalid, prefix``_arready; \
  kind prefix``_rlast, prefix``_rvalid, prefix``_rready;

`define AXI_ATTRIBUTE_NETS(prefix, user_width, kind) \
  kind [3:0] prefix``_awcache, prefix``_awqos, prefix``_arcache, prefix``_arqos; \
  kind [2:0] prefix``_awprot, prefix``_arprot; \
  kind [user_width-1:0] prefix``_awuser, prefix``_aruser;

`define AXI_CONNECT(port, net, index) \
  .port``_awid(net``_awid index), \
  .port``_awaddr(net``_awaddr index), \
  .port``_awlen(net``_awlen index), \
  .port``_awsize(net``_awsize index), \
  .port``_awburst(net``_awburst index), \
  .port``_awvalid(net``_awvalid index), \
  .port``_awready(net``_awready index), \
  .port``_wdata(net``_wdata index), \
  .port``_wstrb(net``_wstrb index), \
  .port``_wlast(net``_wlast index), \
  .port``_wvalid(net``_wvalid index), \
  .port``_wready(net``_wready index), \
  .port``_bid(net``_bid index), \
  .port``_bresp(net``_bresp index), \
  .port``_bvalid(net``_bvalid index), \
  .port``_bready(net``_bready index), \
  .port``_arid(net``_arid index), \
  .port``_araddr(net``_araddr index), \
  .port``_arlen(net``_arlen index), \
  .port``_arsize(net``_arsize index), \
  .port``_arburst(net``_arburst index), \
  .port``_arvalid(net``_arvalid index), \
  .port``_arready(net``_arready index), \
  .port``_rid(net``_rid index), \
  .port``_rdata(net``_rdata index), \
  .port``_rresp(net``_rresp index), \
  .port``_rlast(net``_rlast index), \
  .port``_rvalid(net``_rvalid index), \
  .port``_rready(net``_rready index)

`define AXI_CONNECT_ATTRIBUTES(port, net, index) \
  .port``_awcache(net``_awcache index), \
  .port``_awprot(net``_awprot index), \
  .port``_awqos(net``_awqos index), \
  .port``_awuser(net``_awuser index), \
  .port``_arcache(net``_arcache index), \
  .port``_arprot(net``_arprot index), \
  .port``_arqos(net``_arqos index), \
  .port``_aruser(net``_aruser index)

`endif
