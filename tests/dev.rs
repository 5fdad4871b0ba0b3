mod sim;
mod simulate;
mod support;
