-f ../eddy_pkg/eddy_pkg.f
rtl/system_cache_pkg.sv
rtl/cache_tags.sv
rtl/cache_walk.sv
rtl/cache_writes.sv
rtl/cache_fetches.sv
rtl/cache_flush.sv
rtl/cache_counters.sv
rtl/system_cache.sv
