"""What runs a Job for real: a process in a private mount namespace, or a container."""
