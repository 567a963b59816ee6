"""Adapter: the container engine, by its command line: build, push, look into, try out."""
