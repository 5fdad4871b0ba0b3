//! Readers and writers of `fabric::format`: against captures, random fabrics, damaged files and the field's own tools.

mod damage;
mod db_csv;
mod files;
mod ibdm;
mod ibsim;
mod ndt;
mod net_dump;
mod netloc;
