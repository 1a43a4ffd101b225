"""The simulated board, behind stock PYNQ calls: `import eddy_sim.device`."""

from eddy import moved

moved.install()
