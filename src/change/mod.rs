//! Two fabrics and an engine in, a proved plan out.
