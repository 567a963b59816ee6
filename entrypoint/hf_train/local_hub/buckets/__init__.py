"""Buckets: folders of plain files that Jobs mount and clients reach over HTTP and xet."""
