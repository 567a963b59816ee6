"""What came out of a training: log lines, repo files and the model card become findings."""
