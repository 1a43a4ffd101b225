-f ../../ip/axi_ports/axi_ports.f
-f ../../ip/slot_path/slot_path.f
-f ../../ip/shell_bank/shell_bank.f
-f ../../ip/axi_intc/axi_intc.f
-f ../../ip/mem_xbar/mem_xbar.f
-f ../../ip/system_cache/system_cache.f
-f ../../ip/stream_link/stream_link.f
-f ../../ip/icap_engine/icap_engine.f
rtl/shell.sv
