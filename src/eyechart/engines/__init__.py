"""Run batches: in this process, or on a cluster."""
