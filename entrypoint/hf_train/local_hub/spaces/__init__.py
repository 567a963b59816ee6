"""Docker Spaces: a commit starts a build, the runtime tells its stage, the log its lines.

With the executor `docker` the Dockerfile is really built, and a Job of `hf.co/spaces/OWNER/NAME` runs in what came
out. With `process` nothing is built: a Space with a Dockerfile is built after a moment, as Jobs need no image there.
"""
