//! Plans: of every scheme on every bundled fabric, as the machine carries them out, and by the commands `plan` and
//! `check`.

mod at_once;
mod command;
mod emptying;
mod machine;
mod plans;
