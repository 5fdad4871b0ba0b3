mod lids;
mod paths;
mod reproduce;
mod support;
