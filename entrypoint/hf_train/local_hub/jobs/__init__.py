"""Jobs: their specs, their life and their logs."""
