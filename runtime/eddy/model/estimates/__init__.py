"""How long jobs wait and take: durations with their spread, and quantiles that hold because they are calibrated."""
