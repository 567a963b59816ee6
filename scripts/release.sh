#!/usr/bin/env bash
# Builds what a release consists of into dist/: the wheel, the source and their checksums. Tools are hash-locked.
# Usage: scripts/release.sh [TAG]; with a tag (v1.2.3), it must be the package's own version, and the change log must know it.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' entrypoint/hf_train/__init__.py)
if [ -n "${1:-}" ]; then
    [ "$1" = "v$version" ] || { echo "hf-train: the tag is $1, the package says $version" >&2; exit 1; }
    grep -q "^## $version " CHANGELOG.md || { echo "hf-train: CHANGELOG.md has no '## $version (DATE)'" >&2; exit 1; }
fi

# The same commit gives the same bytes: hatchling takes all times from here.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH UV_NO_CONFIG=1 UV_SYSTEM_CERTS=true UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1
rm -rf dist
.venv/bin/uv build --quiet --python .venv/bin/python --no-cache --require-hashes \
    --build-constraints requirements-build.txt --out-dir dist
cd dist
sha256sum -- *.whl *.tar.gz >SHA256SUMS
cat SHA256SUMS
