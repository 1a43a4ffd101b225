-f ../hls_wrapper/hls_wrapper.f
rtl/render_project_core.sv
rtl/render_project.sv
