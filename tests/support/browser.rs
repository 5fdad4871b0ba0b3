//! Chromium, for pages.

use super::tools::all_there;
use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use serde_json::{Value, json};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BROWSER: &str = "chromium";
/// Widths of a window in CSS pixels: a phone held upright, half a screen, a whole one.
pub const WIDTHS: [u32; 3] = [390, 820, 1400];
/// The colours that a reader may prefer, with the background of our pages in each.
const COLOURS: [(&str, &str); 2] = [("light", "rgb(246, 247, 249)"), ("dark", "rgb(18, 21, 27)")];

/// Whether a browser is installed; prints a line otherwise.
pub fn is_there() -> bool {
    let missing = match Command::new(BROWSER).arg("--version").output() {
        Ok(_) => Vec::new(),
        Err(_) => vec![BROWSER.to_string()],
    };
    all_there(&missing, "chromium")
}

/// A browser that stays open, driven by its debugging protocol over two pipes.
pub struct Browser {
    child: Child,
    orders: File,
    answers: BufReader<File>,
    last: u64,
    session: Option<String>,
    /// What its console and its scripts complained of.
    pub complaints: Vec<String>,
}

/// A part of a page, as a screen reader is told of it.
#[derive(Debug)]
pub struct Heard {
    /// What it is, as ARIA calls it.
    pub role: String,
    pub name: String,
    pub description: String,
}

impl Browser {
    /// Starts one that keeps its files in a folder, with one empty page.
    pub fn start(folder: &Path) -> Browser {
        let [orders, answers] = ["orders", "answers"].map(|name| folder.join(name));
        let made = Command::new("mkfifo").args([&orders, &answers]).status().expect("mkfifo of coreutils");
        assert!(made.success(), "two pipes in {}", folder.display());
        let mut command = Command::new("sh");
        // The protocol's file descriptors are 3 and 4.
        command.args(["-c", "orders=$1 answers=$2; shift 2; exec \"$@\" 3<\"$orders\" 4>\"$answers\"", "sh"]);
        command.args([&orders, &answers]).arg(BROWSER);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]);
        command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        let orders = OpenOptions::new().write(true).open(&orders).expect("its orders");
        let answers = BufReader::new(File::open(&answers).expect("its answers"));
        let mut browser = Browser { child, orders, answers, last: 0, session: None, complaints: Vec::new() };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().expect("a session").to_string());
        for domain in ["Page", "Runtime", "Log"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens a page.
    pub fn open(&mut self, url: &str) {
        let opened = self.ask("Page.navigate", json!({"url": url}));
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
    }

    /// Loads a page of which we have the text, in a window so wide: the document after scripts have run, and what was
    /// complained of.
    pub fn load(&mut self, text: &str, width: u32, folder: &Path) -> (String, Vec<String>) {
        let file = folder.join(format!("page-{}.html", self.last));
        fs::write(&file, text).expect("a file");
        self.complaints.clear();
        self.view(width, "light");
        self.open(&format!("file://{}", file.display()));
        self.until("document.readyState === 'complete'");
        let document = self.value("document.documentElement.outerHTML");
        (document.as_str().expect("a document").to_string(), std::mem::take(&mut self.complaints))
    }

    /// Loads a page at each width and in either colours, and asserts what [`Browser::assert_fits`] does, as it is
    /// loaded and with all parts unfolded. `name` is that of its pictures.
    pub fn assert_readable(&mut self, name: &str, text: &str, folder: &Path) {
        for width in WIDTHS {
            for (colours, background) in COLOURS {
                let file = folder.join(format!("{name}.html"));
                fs::write(&file, text).expect("a file");
                self.view(width, colours);
                self.open(&format!("file://{}", file.display()));
                self.until("document.readyState === 'complete'");
                self.assert_fits(name, width, (colours, background));
                self.value("document.querySelectorAll('details').forEach(own => own.open = true)");
                self.assert_no_sideways_scroll(&format!("{name}, unfolded, at {width}"));
            }
        }
        assert_eq!(std::mem::take(&mut self.complaints), Vec::<String>::new(), "{name}");
    }

    /// Asserts of the page that is open what [`Browser::assert_fits`] does, at each width and in either colours.
    pub fn assert_readable_as_it_is(&mut self, name: &str) {
        for width in WIDTHS {
            for (colours, background) in COLOURS {
                self.view(width, colours);
                self.assert_fits(name, width, (colours, background));
            }
        }
        assert_eq!(self.complaints, Vec::<String>::new(), "{name}");
    }

    /// Asserts that the page has the colours wanted and never scrolls sideways. Leaves a picture of it where
    /// `RECONFIG_PICTURES` names a folder.
    fn assert_fits(&mut self, name: &str, width: u32, (colours, background): (&str, &str)) {
        self.assert_no_sideways_scroll(&format!("{name} at {width}"));
        let found = self.value("getComputedStyle(document.body).backgroundColor");
        assert_eq!(found, background, "{name}: {colours}");
        if let Some(folder) = env::var_os("RECONFIG_PICTURES") {
            let file = Path::new(&folder).join(format!("{name}-{width}-{colours}.png"));
            fs::write(file, self.picture()).expect("a picture");
        }
    }

    fn assert_no_sideways_scroll(&mut self, what: &str) {
        let [whole, seen] =
            ["scrollWidth", "clientWidth"].map(|own| self.value(&format!("document.documentElement.{own}")));
        assert!(whole.as_u64() <= seen.as_u64(), "{what}: {whole} pixels, of which {seen} are seen");
    }

    /// Sets the size of the window and the preferred colours, `light` or `dark`.
    pub fn view(&mut self, width: u32, colours: &str) {
        // As on a phone: a bar would take a part of the width, and not be in the picture.
        self.ask("Emulation.setScrollbarsHidden", json!({"hidden": true}));
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": colours}]});
        self.ask("Emulation.setEmulatedMedia", features);
    }

    /// The value of an expression of JavaScript.
    pub fn value(&mut self, expression: &str) -> Value {
        let answer = self.ask("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.value(&format!("!!({expression})")) != true {
            if begun.elapsed() > Duration::from_secs(60) {
                panic!("{expression}:\n{}", self.value("document.body.innerText"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The whole page as a PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let answer = self.ask("Page.captureScreenshot", json!({"captureBeyondViewport": true}));
        STANDARD.decode(answer["data"].as_str().expect("an image")).expect("base64")
    }

    /// The page as a printer would get it, a PDF.
    pub fn printed(&mut self) -> Vec<u8> {
        let answer = self.ask("Page.printToPDF", json!({}));
        STANDARD.decode(answer["data"].as_str().expect("a document")).expect("base64")
    }

    /// Shows the page as it is on paper.
    pub fn emulate_paper(&mut self) {
        self.ask("Emulation.setEmulatedMedia", json!({"media": "print"}));
    }

    /// Presses a key, `Tab` or `Enter`.
    pub fn press(&mut self, key: &str) {
        let (number, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            other => panic!("{other}: no key that a test presses"),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let own = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": number, "text": text});
            self.ask("Input.dispatchKeyEvent", own);
        }
    }

    /// What the page is to a screen reader, in the order of the page.
    pub fn accessible(&mut self) -> Vec<Heard> {
        let tree = self.ask("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().expect("nodes").iter().filter(|node| node["ignored"] == false);
        let text = |node: &Value, part: &str| node[part]["value"].as_str().unwrap_or_default().to_string();
        let heard = |node: &Value| {
            let [role, name, description] = ["role", "name", "description"].map(|part| text(node, part));
            Heard { role, name, description }
        };
        nodes.map(heard).collect()
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut order = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            order["sessionId"] = session.as_str().into();
        }
        write!(self.orders, "{order}\0").expect("it takes orders");
        loop {
            let mut text = Vec::new();
            self.answers.read_until(0, &mut text).expect("it answers");
            text.pop();
            let told: Value = serde_json::from_slice(&text).expect("JSON, or the browser has ended");
            if told["id"] == self.last {
                assert!(told["error"].is_null(), "{method}: {told}");
                return told["result"].clone();
            }
            let is_complaint = match told["method"].as_str() {
                Some("Runtime.exceptionThrown") => true,
                Some("Runtime.consoleAPICalled") => {
                    ["error", "warning"].contains(&told["params"]["type"].as_str().unwrap_or(""))
                }
                Some("Log.entryAdded") => true,
                _ => false,
            };
            if is_complaint {
                self.complaints.push(told["params"].to_string());
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
