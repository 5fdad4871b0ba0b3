//! What commands print, held against the schemas that `reconfig schema` prints.

use serde_json::Value;
use std::process::Command;

/// Panics where a value does not keep to a command's schema.
pub fn assert_keeps(name: &str, value: &Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_reconfig")).args(["schema", name]).output().expect("the binary runs");
    let schema: Value = serde_json::from_slice(&output.stdout).expect("a schema");
    let errors = errors(&schema, value);
    assert!(errors.is_empty(), "{name}: {}\n{value}", errors.join("\n"));
}

/// Where a value does not keep to a schema, each with its place.
pub fn errors(schema: &Value, value: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).expect("a schema");
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}
