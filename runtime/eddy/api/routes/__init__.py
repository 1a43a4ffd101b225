"""The routes of a board's server, a file for each resource. Called by nobody but the application that they are put
into."""
