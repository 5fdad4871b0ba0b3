//! What people read: lines of 120 columns at most, messages with one space between words, and a glossary in the order
//! of letters.
//!
//! rustfmt wraps code, and neither comments nor pages. Tables, code and links are as long as they must be.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::path::{Path, PathBuf};

const COLUMNS: usize = 120;

/// Folders of Rust, all of it ours.
const CODE: [&str; 6] = ["src", "tests", "benches", "examples", "fuzz/fuzz_targets", "opensm-plugin"];
/// Folders of pages.
const PAGES: [&str; 3] = ["docs", "docs/decisions", "docs/state-machines"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder with an ending, folders within it included if asked for.
fn files(folder: &Path, ending: &str, within: bool) -> Vec<PathBuf> {
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    let of = |path: PathBuf| match path.is_dir() {
        true if within && !path.ends_with("target") => files(&path, ending, within),
        true => Vec::new(),
        false => vec![path].into_iter().filter(|path| path.extension().is_some_and(|own| own == ending)).collect(),
    };
    paths.flat_map(of).collect()
}

/// The lines that are too long, by number. `prose` gives the text of a line that may be wrapped; none for another.
fn too_long(text: &str, prose: impl Fn(&str) -> Option<&str>) -> Vec<usize> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let Some(own) = prose(line).map(str::trim_start) else {
            in_code = false;
            continue;
        };
        if own.starts_with("```") {
            in_code = !in_code;
        }
        // A word that is longer than the line cannot be wrapped, nor can one behind the mark of a list.
        let room = COLUMNS.saturating_sub(line.chars().count() - own.chars().count());
        let wraps = own.chars().take(room + 1).skip(4).any(|letter| letter == ' ');
        let is_free = own.starts_with('|') || own.starts_with('[') && own.contains("]:") || in_code;
        if line.chars().count() > COLUMNS && wraps && !is_free {
            found.push(number);
        }
    }
    found
}

/// The text of a comment.
fn comment(line: &str) -> Option<&str> {
    let own = line.trim_start().strip_prefix("//")?;
    Some(own.trim_start_matches(['/', '!']))
}

/// All of a page may be wrapped.
fn page(line: &str) -> Option<&str> {
    Some(line)
}

#[test]
fn no_line_is_longer_than_120_columns() {
    let mut long = Vec::new();
    let mut count = 0;
    let mut look = |files: Vec<PathBuf>, prose: fn(&str) -> Option<&str>| {
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let shown = file.strip_prefix(root()).unwrap_or(&file).display();
            long.extend(too_long(&text, prose).into_iter().map(|number| format!("{shown}:{number}")));
            count += 1;
        }
    };
    for folder in CODE {
        look(files(&root().join(folder), "rs", true), comment);
    }
    for folder in PAGES {
        look(files(&root().join(folder), "md", false), page);
    }
    look(files(root(), "md", false), page);
    look(files(&root().join("state-machines"), "yaml", false), page);
    assert!(count > 900, "only {count} files were read");
    assert!(long.is_empty(), "{} lines are longer than {COLUMNS} columns:\n{}", long.len(), long.join("\n"));
}

#[test]
fn long_lines_are_found_where_they_can_be_wrapped() {
    let long = format!("// {}", "word ".repeat(30));
    let table = format!("/// | {}|", "cell ".repeat(30));
    let text =
        format!("{long}\nlet code = 1; {long}\n{table}\n// ```\n{long}\n// ```\n    /{long}\n// {}", "w".repeat(150));
    assert_eq!(too_long(&text, comment), [1, 7]);
    assert_eq!(too_long(&format!("- {long}\n```\n{long}\n```\n{long}"), page), [1, 5]);
}

/// What a sentence for people is an argument of: the attribute, macros, and the readers' own method.
const SAYING: [&str; 9] = ["error", "warn", "info", "debug", "anyhow", "bail", "ensure", "panic", "expect"];

/// The texts of the messages among tokens, with their lines.
fn messages(tokens: TokenStream, says: bool, found: &mut Vec<(usize, String)>) {
    let mut saying = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => saying = SAYING.iter().any(|own| name == own),
            TokenTree::Punct(mark) if mark.as_char() == '!' => {}
            TokenTree::Group(group) => {
                let is_argument = saying && group.delimiter() == Delimiter::Parenthesis;
                messages(group.stream(), says || is_argument, found);
                saying = false;
            }
            TokenTree::Literal(literal) if says => {
                let line = literal.span().start().line;
                if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                    found.push((line, text.value()));
                }
            }
            TokenTree::Literal(_) | TokenTree::Punct(_) => saying = false,
        }
    }
}

/// The lines of messages with two spaces within a line of theirs.
fn gaps(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    messages(text.parse().expect("it is Rust"), false, &mut found);
    found.retain(|(_, message)| message.lines().any(|line| line.trim().contains("  ")));
    found.into_iter().map(|(line, _)| line).collect()
}

#[test]
fn messages_have_one_space_between_words() {
    let mut wrong = Vec::new();
    for folder in ["src", "opensm-plugin/src"] {
        for file in files(&root().join(folder), "rs", true) {
            let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let shown = file.strip_prefix(root()).unwrap_or(&file).display();
            wrong.extend(gaps(&text).into_iter().map(|line| format!("{shown}:{line}")));
        }
    }
    assert!(wrong.is_empty(), "{} messages have gaps:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn gaps_in_messages_are_found() {
    let gap =
        "#[error(\n\"one  two\")]\nstruct A;\nfn f() { tracing::warn!(x, \"three: {}  four\"); g(\"five  six\") }";
    assert_eq!(gaps(gap), [2, 4]);
    assert_eq!(gaps("fn f() { bail!(\"one\\n  two \\\n   three\") }"), [0; 0]);
}

#[test]
fn the_glossary_is_in_the_order_of_letters() {
    let text = std::fs::read_to_string(root().join("docs/GLOSSARY.md")).expect("there is a glossary");
    let letters = |row: &str| -> String {
        let term = row.split('|').nth(1).unwrap_or_default();
        term.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let rows: Vec<&str> = text.lines().collect();
    let mut compared = 0;
    for pair in rows.windows(2) {
        // Above the first row of a table stands its rule.
        if pair.iter().all(|row| row.starts_with("| ")) && !pair[0].contains("|---") {
            assert!(letters(pair[0]) <= letters(pair[1]), "{} stands before {}", pair[0], pair[1]);
            compared += 1;
        }
    }
    assert!(compared > 150, "only {compared} rows were compared");
}

/// The longest that a function may be, and a file without its tests, if CONTRIBUTING does not list it.
const MOST_LINES: (usize, usize) = (70, 800);

/// What is longer than [`MOST_LINES`]: functions as `name (file)`, and files.
struct Long {
    shown: String,
    found: Vec<String>,
}

impl Long {
    fn function(&mut self, name: &syn::Ident, span: proc_macro2::Span) {
        if span.end().line + 1 - span.start().line > MOST_LINES.0 {
            self.found.push(format!("{name} ({})", self.shown));
        }
    }
}

impl<'ast> syn::visit::Visit<'ast> for Long {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(|attribute| attribute.path().is_ident("cfg")) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(
            &item.sig.ident,
            item.sig.ident.span().join(item.block.brace_token.span.close()).expect("one file"),
        );
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(
            &item.sig.ident,
            item.sig.ident.span().join(item.block.brace_token.span.close()).expect("one file"),
        );
        syn::visit::visit_impl_item_fn(self, item);
    }
}

#[test]
fn what_is_longer_than_it_should_be_is_listed_with_contributing() {
    let mut long = Vec::new();
    for file in files(&root().join("src"), "rs", true) {
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let shown = file.strip_prefix(root()).expect("below the root").display().to_string();
        let lines = text.lines().position(|line| line == "#[cfg(test)]").unwrap_or(text.lines().count());
        let mut own = Long { shown, found: Vec::new() };
        syn::visit::visit_file(&mut own, &syn::parse_file(&text).expect("it compiles"));
        long.append(&mut own.found);
        if lines > MOST_LINES.1 {
            long.push(own.shown);
        }
    }
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).expect("it can be read");
    let (_, list) = text.split_once("These exceptions stand:").expect("CONTRIBUTING lists what stands");
    let (list, _) = list.split_once("A test").expect("the rule before the seventh");
    let list = list.split_whitespace().collect::<Vec<_>>().join(" ");
    let (functions, files) = list.split_once("; the files ").expect("functions, then files");
    let names = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>();
    let functions = names(functions);
    let mut listed: Vec<String> = functions.chunks(2).map(|own| format!("{} ({})", own[0], own[1])).collect();
    listed.extend(names(files));
    listed.sort();
    long.sort();
    assert_eq!(listed, long, "left: what CONTRIBUTING lists; right: what is longer than {MOST_LINES:?} lines");
}
