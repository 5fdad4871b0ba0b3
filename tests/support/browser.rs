//! Chromium, for pages.

use super::tools::all_there;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const BROWSER: &str = "chromium";

/// Whether a browser is installed; prints a line otherwise.
pub fn is_there() -> bool {
    let missing = match Command::new(BROWSER).arg("--version").output() {
        Ok(_) => Vec::new(),
        Err(_) => vec![BROWSER.to_string()],
    };
    all_there(&missing, "chromium")
}

/// The document after scripts have run, and what the browser complained of.
pub fn browse(text: &str, width: u32, folder: &Path) -> (String, Vec<String>) {
    let file = folder.join("probed.html");
    fs::write(&file, text).expect("a file");
    let mut command = Command::new(BROWSER);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]);
    command
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", folder.join("profile").display()));
    let output = command.arg(format!("file://{}", file.display())).stdin(Stdio::null()).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    let complaints = told.lines().filter(|line| line.contains("CONSOLE")).map(str::to_string).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), complaints)
}
