// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The CPU's AXI4-Lite manager port into the shell: one access at a time, every output registered.
#pragma once
#include "eddy_boundary.h"

class CpuPort {
 public:
  /// Put a read on the bus; the shell sees it at its next edge.
  void read(uint32_t offset, CpuDown& down) {
    down.s_axil_araddr = offset;
    down.s_axil_arvalid = 1;
    down.s_axil_rready = 1;
    busy_ = true;
  }

  /// Put a write on the bus; address and data together.
  void write(uint32_t offset, uint32_t value, CpuDown& down) {
    down.s_axil_awaddr = offset;
    down.s_axil_wdata = value;
    down.s_axil_wstrb = 0xF;
    down.s_axil_awvalid = 1;
    down.s_axil_wvalid = 1;
    down.s_axil_bready = 1;
    busy_ = true;
  }

  bool busy() const { return busy_; }
  uint32_t data() const { return data_; }
  /// Bus response of the last access; 0 is OKAY.
  uint32_t response() const { return response_; }

  /// Give up on an access that was not answered.
  void abandon(CpuDown& down) {
    down = CpuDown{};
    busy_ = false;
  }

  /// A rising edge of the shell clock, given the shell's outputs before it; answers whether an output changed.
  bool step(const CpuUp& up, CpuDown& down) {
    bool changed = false;
    const auto drop = [&changed](uint8_t& flag) {
      flag = 0;
      changed = true;
    };
    if (down.s_axil_arvalid && up.s_axil_arready) drop(down.s_axil_arvalid);
    if (down.s_axil_awvalid && up.s_axil_awready) drop(down.s_axil_awvalid);
    if (down.s_axil_wvalid && up.s_axil_wready) drop(down.s_axil_wvalid);
    if (down.s_axil_rready && up.s_axil_rvalid) {
      drop(down.s_axil_rready);
      data_ = up.s_axil_rdata;
      finish(up.s_axil_rresp);
    }
    if (down.s_axil_bready && up.s_axil_bvalid) {
      drop(down.s_axil_bready);
      finish(up.s_axil_bresp);
    }
    return changed;
  }

 private:
  void finish(uint32_t response) {
    response_ = response;
    busy_ = false;
  }

  bool busy_ = false;
  uint32_t data_ = 0;
  uint32_t response_ = 0;
};
