"""Synthesis of instances: drawn, solved, accepted, worded, split; every one from (seed, n) alone.

`plan` fixes the level, the networks and the number of changes of an instance; `draw` makes an
attempt at it from `candidates`, `values` and `structures`; `evaluate` solves it and its variants
and accepts or rejects; `shard` runs the instances of a job and resumes; `merge` deals accepted
instances into parts; `statistics` and `datasheet` tell what came out.
"""
