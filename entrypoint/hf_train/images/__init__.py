"""Images: references, manifests, pins, and the content hash of a build. Pure: nothing here asks anybody."""
