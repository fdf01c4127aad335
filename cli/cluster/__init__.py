"""Plan an evaluation of many systems, and launch its shards: `siq plan`, `siq launch`."""
