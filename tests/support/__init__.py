"""What several layers of tests share: the GitHub stub, the act harness, the container engine, event payloads."""
