//! What a run depends on is in its settings: no option that changes a run leaves them as they are.

use super::command::json;
use serde_json::Value;

/// Options, each with a value that is not its default.
const OPTIONS: [&[&str]; 34] = [
    &["--packet-bytes", "512"],
    &["--traffic", "tornado"],
    &["--traffic", "permutation"],
    &["--message", "2"],
    &["--replies", "0.1"],
    &["--monitor-sl", "0", "--monitor-every", "20000"],
    &["--send-queue", "5"],
    &["--latch", "grant"],
    &["--buffer", "200"],
    &["--turn-back"],
    &["--vls", "2"],
    &["--standing-partition"],
    &["--reserved-sl", "7"],
    &["--sl-to-vl", "plain"],
    &["--engine-seed", "3"],
    &["--path-cache", "never"],
    &["--vl-stall", "3", "--hoq-life", "2000000"],
    &["--hoq-life", "1000000"],
    &["--switch-life", "1000000"],
    &["--window", "3"],
    &["--smp-time", "1000"],
    &["--smp-time-of", "PortInfo=1000"],
    &["--smi-processor", "100"],
    &["--vl15-buffer", "99"],
    &["--detect", "sweep"],
    &["--detect", "sweep", "--sweep-factor", "7"],
    &["--compute-time", "10"],
    &["--compute-time", "scaled"],
    &["--smp-timeout", "1999"],
    &["--smp-retries", "5"],
    &["--smp-loss", "0.001"],
    &["--smp-duplicates", "0.001"],
    &["--smp-delay", "10"],
    &["--barrier-timeout", "99"],
];

#[test]
fn no_option_that_changes_a_run_leaves_its_settings_as_they_are() {
    let settings = |own: &[&str]| json(&[&["--remove-root"], own].concat()).1["settings"].take();
    let mut seen: Vec<Value> = vec![settings(&[])];
    for option in OPTIONS {
        let own = settings(option);
        assert!(!seen.contains(&own), "{option:?}: {own}");
        seen.push(own);
    }
}
