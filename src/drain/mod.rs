//! Judges readings of the fabric; the only maker of `Flushed`, `SourcesMoved` and `Drained`.
