"""Model, dataset and Space repos.

A repo is a real bare git repository on disk, worked on by git's plumbing. Branches, tags, history, hashes of commits,
trees and blobs and their dates are then true by construction, and `git` itself can check them. A commit is one `git
fast-import` (blobs, tree, commit and ref in one process), a tree one `git ls-tree`, remembered per commit since a
commit never
changes: on a busy 2-core machine a commit took 39 ms (median of 30 over HTTP), an info page 12 ms. Large files lie
    beside the repositories in one LFS store, by SHA-256, and stand in git as LFS pointers, as on the Hub.
"""
