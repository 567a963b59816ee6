"""Text of strangers: made safe to print, and without secrets. Pure."""
