//! Engines: a fabric in, a routing function out, one engine a file.
