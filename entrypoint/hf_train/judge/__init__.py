"""Judging numbers: gates, which way is better, how far runs of the same code lie apart. Pure."""
