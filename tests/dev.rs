mod cli;
mod formats;
mod layers;
mod names;
mod schemas;
mod subnets;
mod support;
