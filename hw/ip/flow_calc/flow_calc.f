-f ../hls_wrapper/hls_wrapper.f
-f ../flow_window/flow_window.f
rtl/flow_divide_step.sv
rtl/flow_divide.sv
rtl/flow_minors.sv
rtl/flow_calc_core.sv
rtl/flow_calc.sv
