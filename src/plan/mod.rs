//! Plans: waves of writes and the barriers between them, made by schemes.
