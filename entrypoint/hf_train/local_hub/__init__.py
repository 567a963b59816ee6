"""The embedded Hub: Jobs, buckets and repos on loopback, for `--local`, `demo` and every test.

It imports nothing of the rest of `hf_train`, and nothing of the rest imports its inside: the two meet over HTTP.
"""
