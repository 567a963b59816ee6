"""Train models from a pull request on Hugging Face Jobs, and report what came out."""

__version__ = "0.1.0"
