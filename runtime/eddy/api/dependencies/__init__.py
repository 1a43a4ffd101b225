"""What a board's routes are given and have in common: the server's parts, the ports to its engine and its store, who
is calling, which job is meant, streams of events, notes for the audit log. Called by routes and by what runs
beside them."""
