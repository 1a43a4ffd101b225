"""Commands that compute without a server: place, simulate, replay and reproduce the documents' figures.

Called by `main`."""
