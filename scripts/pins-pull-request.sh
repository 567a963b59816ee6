#!/usr/bin/env bash
# Opens (or renews) the pull request of the weekly pins workflow, when images/pins.toml changed.
set -euo pipefail
cd "$(dirname "$0")/.."

if git diff --quiet -- images/pins.toml; then
    echo "hf-train: every name still stands for the same bytes"
    exit 0
fi
branch=pins/weekly
git switch --quiet --force-create "$branch"
git -c user.name='github-actions[bot]' -c user.email='41898282+github-actions[bot]@users.noreply.github.com' \
    commit --quiet --message 'Images: the digests of this week' -- images/pins.toml
# The credential helper hands the token over on a pipe, so it stands in no argument and in no file.
git -c credential.helper='!gh auth git-credential' push --quiet --force \
    "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY.git" "HEAD:refs/heads/$branch"
if [ -z "$(gh pr list --head "$branch" --state open --json number --jq '.[].number')" ]; then
    gh pr create --head "$branch" --base "$GITHUB_REF_NAME" --title 'Images: the digests of this week' \
        --body 'Written by `hf-train image pin --update`. Each name now stands for the bytes that its tag has today.'
fi
