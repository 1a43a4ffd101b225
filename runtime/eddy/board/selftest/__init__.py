"""What only hardware can tell: `eddy board test`, its steps and known answers."""
