"""Inside a run's process: a trainer is driven, timed, scored, and its memory probed."""
