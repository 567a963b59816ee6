#!/usr/bin/env bash
# Writes images/*/requirements.txt from requirements.in: names, versions and hashes, no address of any index.
# torch is left out: the image's base brings it, built for its CUDA.
set -euo pipefail
cd "$(dirname "$0")/.."

without=$(mktemp)
trap 'rm -f "$without"' EXIT
echo "torch ; sys_platform == 'never'" >"$without"
for wanted in images/*/requirements.in; do
    echo "hf-train: ${wanted%.in}.txt"
    UV_NO_CONFIG=1 UV_CUSTOM_COMPILE_COMMAND='make image-locks' .venv/bin/uv pip compile --quiet --universal \
        --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
        --exclude-newer '7 days' --override "$without" "$wanted" -o "${wanted%.in}.txt"
done
