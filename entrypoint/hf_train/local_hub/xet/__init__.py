"""The content-addressed store behind buckets and large files: what `hf_xet` uploads to and downloads from.

Sources of the facts: huggingface/xet-core (`openapi/cas.openapi.yaml`, `xet_core_structures/`), `docs/xet/` in
huggingface/hub-docs, and what hf_xet 1.8.0 sends.
"""
