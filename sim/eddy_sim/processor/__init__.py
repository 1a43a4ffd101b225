"""The processing system's side as PYNQ sees it: clocks, registers, buffers, interrupts, board time.

Called by `device`."""
