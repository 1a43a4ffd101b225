"""A pool of boards on NATS JetStream: a head that places jobs, agents beside `eddy serve` that run them.

Needs the extra `pool`. Nothing else of Eddy imports this package, but for the commands that are about pools.
"""
