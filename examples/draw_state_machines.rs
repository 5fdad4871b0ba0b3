//! Draws every `state-machines/*.yaml` into `docs/state-machines/*.md`. Run it after changing a state machine; a test
//! fails if a page is older than its chart.

#[path = "../tests/support/chart.rs"]
mod chart;

use anyhow::{Context, Result};
use chart::Chart;
use std::fs;
use std::path::Path;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(root.join("state-machines"))? {
        let path = entry?.path();
        let yaml = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let chart = Chart::parse(&yaml).with_context(|| format!("drawing {}", path.display()))?;
        let page = root.join("docs/state-machines").join(format!("{}.md", chart.machine));
        fs::write(&page, chart.to_markdown()).with_context(|| format!("writing {}", page.display()))?;
        println!("{}: {} states, {} transitions", page.display(), chart.states.len(), chart.edges().len());
    }
    Ok(())
}
