"""The composition root: an application and a server put together of all rooms below, and what runs beside it while it
serves. Called by `eddy serve`, demos and tests."""
