"""The stages of a run, over ports: everything between inputs and exit code that asks the world for something."""
