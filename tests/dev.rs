mod formats;
mod support;
