# hf-train as an image: the same package and the same lock as the action, behind an entrypoint.
#
#   docker build -t hf-train .
#   docker run --rm -e HF_TOKEN -v "$PWD:/repo:ro" hf-train plan --script train.py --flavor cpu-basic
#
# Nothing here needs BuildKit. The base is pinned by the digest of its multi-platform index (Python 3.13.15 on Debian
# 13); another base with Python 3.11 or newer and pip or ensurepip works as well, and BASE is how the tests build
# where no image registry can be reached.
ARG BASE=docker.io/library/python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285
FROM ${BASE}

# Where the package index sits behind a proxy or a mirror: --build-arg HTTPS_PROXY=... and PIP_INDEX_URL=... work as
# they stand (every wheel is held by its hash, so a mirror need not be trusted). A company's own certificates come from
# the base's trust store: build FROM a base that has them, and name the file with PIP_CERT.
ARG PIP_INDEX_URL
ARG PIP_CERT

# git lists the files of the commit under test; ca-certificates are for the Hub.
RUN command -v git >/dev/null \
    || (apt-get update \
        && apt-get install --yes --no-install-recommends ca-certificates git \
        && rm -rf /var/lib/apt/lists/*)

COPY entrypoint/requirements.txt /opt/hf-train/entrypoint/requirements.txt
RUN python3 -I -m venv /opt/hf-train/venv \
    && PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 /opt/hf-train/venv/bin/python -I -m pip install \
        --require-hashes --only-binary :all: --no-deps -r /opt/hf-train/entrypoint/requirements.txt \
    && echo /opt/hf-train/entrypoint \
        > "$(/opt/hf-train/venv/bin/python -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/hf-train.pth" \
    && useradd --create-home --uid 10001 hf-train

COPY images/pins.toml /opt/hf-train/images/pins.toml
COPY entrypoint/hf_train /opt/hf-train/entrypoint/hf_train
# Compiled here, since the user below cannot write there; imported once, so that a broken build is no image.
RUN /opt/hf-train/venv/bin/python -I -m compileall -q /opt/hf-train/entrypoint/hf_train \
    && /opt/hf-train/venv/bin/python -I -c 'import hf_train'

# A mounted checkout belongs to somebody else; git reads it all the same. It only lists files there.
RUN git config --system --add safe.directory '*'

USER 10001
WORKDIR /repo
ENTRYPOINT ["/opt/hf-train/venv/bin/python", "-I", "-m", "hf_train"]
