"""One SQLite file: connection, schema and its changes, readers and the writer's turns, health, damaged rows."""
