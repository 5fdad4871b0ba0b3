//! Readers and writers of `fabric::format`: against captures, random fabrics, damaged files and the field's own tools.

mod damage;
mod files;
mod ibsim;
