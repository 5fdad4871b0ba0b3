//! All captures of topologies.

use super::corpus::corpus;

/// Name and content of every capture of a topology, in the order of names; none, visibly, where they are not at hand.
pub fn captures() -> Vec<(String, Vec<u8>)> {
    let Some(folder) = corpus() else { return Vec::new() };
    let mut files = Vec::new();
    for sub in ["ibsim", "odd", "opensm", "real"] {
        for entry in std::fs::read_dir(folder.join(sub)).expect("the captures' folders") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|end| end != "fdbs") {
                let bytes = std::fs::read(&path).expect("a readable capture");
                files.push((format!("{sub}/{}", path.file_name().expect("a name").display()), bytes));
            }
        }
    }
    assert!(!files.is_empty(), "no captures in the folders of {}", folder.display());
    files.sort();
    files
}
