//! Debian's OpenSM with the plugin, on ibsim and on a served fabric, judged from outside.

mod adoption;
mod dead;
mod decision;
mod harness;
mod killed;
mod layers;
mod moments;
mod multicast;
mod settings;
mod sixteen;
mod subnet;
mod times;
mod ways;
