"""Benchmark logs that people already have, read into one shape. Start at `read.read_log`; the shape is `model.Import`.

One module with a `reader` is one format, its neighbours of the same first word are its parts. Nothing here trusts its input:
whatever bytes arrive, an `Import` comes out, and what is doubtful carries a badge instead of passing for a measurement.
"""
