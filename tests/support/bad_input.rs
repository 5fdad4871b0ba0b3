//! Folders of bad input: beside each file stands what is said of it.

use std::path::{Path, PathBuf};

/// Reads every file of a folder whose name `is_input` takes: each is refused as the file `NAME.stderr` beside it shows.
/// `UPDATE_EXPECT=1` writes those anew. `read` gives an error as it is told and as it is rendered.
pub fn assert_refused_as_shown(
    folder: &Path,
    is_input: impl Fn(&str) -> bool,
    read: impl Fn(&str, &[u8]) -> Result<(), (String, String)>,
) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| is_input(&path.to_string_lossy()));
    files.sort();
    assert!(files.len() >= 20, "{} files of bad input", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("a readable file");
        let rendered = match read(&name, &bytes) {
            Ok(()) => "it was read\n".to_string(),
            Err((told, rendered)) => format!("{told}\n\n{rendered}\n"),
        };
        let expected = folder.join(format!("{name}.stderr"));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&expected, &rendered).expect("a writable folder");
        }
        if std::fs::read_to_string(&expected).unwrap_or_default() != rendered {
            wrong.push(rendered);
        }
    }
    assert!(wrong.is_empty(), "UPDATE_EXPECT=1 accepts these:\n{}", wrong.join("\n"));
}
