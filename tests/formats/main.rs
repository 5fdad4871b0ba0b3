//! Readers and writers of `fabric::format`: against captures, random fabrics, damaged files and the field's own tools.

#[path = "../support/bad_input.rs"]
mod bad_input;
#[path = "../support/captures.rs"]
mod captures;
#[path = "../support/corpus.rs"]
mod corpus;
mod files;
mod ibsim;
#[path = "../support/on_path.rs"]
mod on_path;
#[path = "../support/tools.rs"]
mod tools;
