"""Adapters: GitHub through PyGithub. Pull requests, people, workflow runs; each failure is returned in words."""
