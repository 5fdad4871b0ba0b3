//! Holds every path of the library to the layer table of docs/ARCHITECTURE.md.
//!
//! The table is read from the document, the paths from the syntax tree: `use` trees, paths in expressions, types and
//! visibilities, `crate::` and `super::` in macros and in attributes. Relative paths are resolved first. Exempt: what
//! stands under `#[cfg(test)]` (a test may use what it needs), the binary, examples, benches and links in comments.

use proc_macro2::{Span, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const TABLE: &str = "docs/ARCHITECTURE.md";

/// Circles that stand, each because one noun has its methods in several files: the upkeep of a subnet, and
/// [`reconfig::subnet::Manager`].
const CIRCLES: [&str; 2] = [
    "sm/registering sm/upkeep",
    "subnet/apply subnet/ask subnet/events subnet/fence subnet/health subnet/held_keys subnet/manager subnet/missing \
     subnet/register subnet/silence subnet/zero",
];

/// By module: what it may import, itself excepted. `None`: everything.
type Layers = BTreeMap<String, Option<BTreeSet<String>>>;

#[test]
fn every_path_keeps_to_the_layer_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let layers = layers();
    let mut reader = Reader::of(&layers, Source::Files(root.join("src")));
    reader.read_root();
    assert!(reader.faults.is_empty(), "paths against the layer table of {TABLE}:\n{}", reader.faults.join("\n"));
    assert!(reader.paths > 100, "only {} paths within the crate were found: the reader misses most", reader.paths);
}

/// Where files import each other, none of them can be read first. `mod.rs` is left out: it declares and exports.
#[test]
fn files_import_each_other_only_where_one_noun_is_spread_over_them() {
    let layers = layers();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut reader = Reader::of(&layers, Source::Files(root.join("src")));
    reader.read_root();
    assert!(reader.imports.len() > 1_000, "only {} imports between files of one module", reader.imports.len());
    let circles = reader.circles();
    assert_eq!(circles, CIRCLES.map(|circle| circle.to_string()), "circles of files");
}

#[test]
fn the_table_lists_the_modules_of_the_library() {
    let root = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let modules = syn::parse_file(&root).unwrap().items.into_iter().filter_map(|item| match item {
        syn::Item::Mod(module) => Some(module.ident.to_string()),
        _ => None,
    });
    let listed: BTreeSet<String> = layers().into_keys().collect();
    assert_eq!(listed, modules.collect(), "left: rows of {TABLE}; right: modules of src/lib.rs");
}

#[test]
fn no_layer_is_below_itself() {
    let layers = layers();
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    loop {
        let below = |set: &BTreeSet<String>| set.iter().all(|name| placed.contains(name.as_str()));
        let ready: Vec<&str> = layers
            .iter()
            .filter(|(name, allowed)| !placed.contains(name.as_str()) && allowed.as_ref().is_some_and(below))
            .map(|(name, _)| name.as_str())
            .collect();
        if ready.is_empty() {
            break;
        }
        placed.extend(ready);
    }
    let left: Vec<&String> =
        layers.iter().filter(|row| row.1.is_some() && !placed.contains(row.0.as_str())).map(|row| row.0).collect();
    assert!(left.is_empty(), "{left:?} import each other in a circle, or what imports everything ({TABLE})");
}

/// The rows of the table.
fn layers() -> Layers {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE)).unwrap();
    let (_, rest) = text.split_once("<!-- layers -->").expect("the table begins at <!-- layers -->");
    let (table, _) = rest.split_once("<!-- end of layers -->").expect("the table ends at <!-- end of layers -->");
    table.lines().filter(|line| line.starts_with("| `")).map(row).collect()
}

fn row(line: &str) -> (String, Option<BTreeSet<String>>) {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
    let (module, allowed) = match cells[..] {
        [module, _, allowed] => (names(module), allowed),
        _ => panic!("a row of the layer table has three cells: {line}"),
    };
    assert_eq!(module.len(), 1, "a row of the layer table is about one module: {line}");
    let set: BTreeSet<String> = names(allowed).into_iter().collect();
    match allowed {
        "everything" => (module[0].clone(), None),
        "nothing" => (module[0].clone(), Some(set)),
        _ if set.is_empty() => panic!("say `nothing`, `everything`, or which modules: {line}"),
        _ => (module[0].clone(), Some(set)),
    }
}

/// Where the text of a module is found.
enum Source {
    /// In the files of this folder.
    Files(PathBuf),
    /// Here, as the whole of one module.
    Text(Vec<String>, &'static str),
}

/// Reads modules in the order of their declarations and collects what is wrong.
struct Reader<'a> {
    layers: &'a Layers,
    source: Source,
    faults: Vec<String>,
    /// Paths within the crate that were judged.
    paths: usize,
    /// The modules that were read and have a file of their own.
    files: BTreeSet<Vec<String>>,
    /// Paths from a module into its own layer.
    imports: BTreeSet<(Vec<String>, Vec<String>)>,
}

impl<'a> Reader<'a> {
    fn of(layers: &'a Layers, source: Source) -> Reader<'a> {
        let (files, imports) = (BTreeSet::new(), BTreeSet::new());
        Reader { layers, source, faults: Vec::new(), paths: 0, files, imports }
    }

    /// The module with a file of its own that a path leads into.
    fn file<'p>(&self, path: &'p [String]) -> Option<&'p [String]> {
        (1..=path.len()).rev().map(|end| &path[..end]).find(|part| self.files.contains(*part))
    }

    /// The largest sets of files of which each imports the others, directly or not: the names of a set in one line.
    fn circles(&self) -> Vec<String> {
        let has_parts =
            |module: &[String]| self.files.iter().any(|other| other.len() > module.len() && other.starts_with(module));
        let names: Vec<&Vec<String>> = self.files.iter().filter(|file| !has_parts(file)).collect();
        let rank = |path: &[String]| {
            let file = self.file(path)?;
            names.iter().position(|name| name[..] == *file)
        };
        let mut graph = petgraph::graphmap::DiGraphMap::<usize, ()>::new();
        for (from, to) in &self.imports {
            if let (Some(from), Some(to)) = (rank(from), rank(to)) {
                graph.add_edge(from, to, ());
            }
        }
        let mut circles: Vec<Vec<usize>> = petgraph::algo::tarjan_scc(&graph);
        circles.retain(|circle| circle.len() > 1);
        circles.iter_mut().for_each(|circle| circle.sort_unstable());
        circles.sort();
        let named =
            |circle: &Vec<usize>| circle.iter().map(|&rank| names[rank].join("/")).collect::<Vec<_>>().join(" ");
        circles.iter().map(named).collect()
    }

    /// The crate's root declares modules and holds nothing else that could lead from one to another.
    fn read_root(&mut self) {
        match &self.source {
            Source::Files(folder) => self.read_file(folder.join("lib.rs"), Vec::new()),
            Source::Text(module, text) => self.read_text("text".into(), text, module.clone()),
        }
    }

    fn read_module(&mut self, module: Vec<String>) {
        let Source::Files(folder) = &self.source else { return };
        let base = folder.join(module.join("/"));
        let candidates = [base.with_extension("rs"), base.join("mod.rs")];
        match candidates.into_iter().find(|file| file.exists()) {
            Some(file) => self.read_file(file, module),
            None => self.faults.push(format!("module {} is declared and has no file", module.join("::"))),
        }
    }

    fn read_file(&mut self, file: PathBuf, module: Vec<String>) {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(&file).display().to_string();
        self.read_text(name, &text, module);
    }

    fn read_text(&mut self, name: String, text: &str, module: Vec<String>) {
        self.files.insert(module.clone());
        let tree = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        ModuleReader { reader: self, file: name, module }.visit_file(&tree);
    }
}

/// Reads one module.
struct ModuleReader<'r, 'a> {
    reader: &'r mut Reader<'a>,
    file: String,
    module: Vec<String>,
}

impl ModuleReader<'_, '_> {
    fn fault(&mut self, span: Span, path: &[String], rule: &str) {
        let line = span.start().line;
        self.reader.faults.push(format!("{}:{line}: `{}`: {rule}", self.file, path.join("::")));
    }

    /// Judges a path as it was written; paths that begin with neither `crate`, `super` nor `self` lead nowhere that an
    /// import before them did not.
    fn judge(&mut self, span: Span, path: &[String]) {
        let Some(absolute) = self.absolute(path) else { return };
        self.reader.paths += 1;
        let Some(layer) = self.module.first().cloned() else {
            return self.fault(span, path, "the crate's root declares modules and imports nothing");
        };
        match absolute.first().map(String::as_str) {
            None | Some("*" | "self") => self.fault(span, path, "names the whole crate: name the module it means"),
            Some(target) if target == layer => _ = self.reader.imports.insert((self.module.clone(), absolute)),
            Some(target) if !self.reader.layers.contains_key(target) => {
                self.fault(span, path, &format!("`{target}` is no row of the layer table"));
            }
            Some(target) => match self.reader.layers.get(&layer) {
                Some(None) => {}
                Some(Some(allowed)) if allowed.contains(target) => {}
                Some(Some(allowed)) if allowed.is_empty() => {
                    self.fault(span, path, &format!("`{layer}` may import nothing"))
                }
                Some(Some(allowed)) => {
                    let list = allowed.iter().cloned().collect::<Vec<_>>().join(", ");
                    self.fault(span, path, &format!("`{layer}` may import only {list}"));
                }
                None => self.fault(span, path, &format!("`{layer}` is no row of the layer table")),
            },
        }
    }

    /// A path from the crate's root, without `crate`.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut place = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("super" | "self") => self.module.clone(),
            _ => return None,
        };
        for (at, segment) in path.iter().enumerate() {
            match segment.as_str() {
                "crate" | "self" if at == 0 => {}
                "super" => _ = place.pop(),
                _ => place.push(segment.clone()),
            }
        }
        Some(place)
    }

    fn judge_use(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |ident: &dyn std::fmt::Display| [before, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.judge_use(&path.tree, &with(&path.ident)),
            syn::UseTree::Name(name) => self.judge(name.span(), &with(&name.ident)),
            syn::UseTree::Rename(name) => self.judge(name.span(), &with(&name.ident)),
            syn::UseTree::Glob(glob) => self.judge(glob.span(), &with(&"*")),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.judge_use(item, before)),
        }
    }

    /// Paths in what a macro or an attribute is given, where the syntax tree ends.
    fn judge_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.judge_tokens(group.stream()),
                TokenTree::Literal(literal) => self.judge_literal(literal),
                TokenTree::Ident(first) if first == "crate" || first == "super" => {
                    let (path, end) = path_from(&tokens, at);
                    // Alone, `crate` is a visibility or the beginning of a group.
                    match tokens.get(end) {
                        Some(TokenTree::Punct(punct)) if punct.as_char() == ':' && path.len() == 1 => {
                            self.fault(first.span(), &path, "write paths out where macros hide them");
                        }
                        _ if path.len() > 1 => self.judge(first.span(), &path),
                        _ => {}
                    }
                    at = end;
                    continue;
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
            at += 1;
        }
    }

    /// Attributes such as serde's take paths as text.
    fn judge_literal(&mut self, literal: &proc_macro2::Literal) {
        let text = literal.to_string();
        let text = text.trim_matches('"');
        if text.starts_with("crate::") || text.starts_with("super::") {
            let path: Vec<String> = text.split("::").map(String::from).collect();
            self.judge(literal.span(), &path);
        }
    }
}

/// The path that begins at a token, and where it ends.
fn path_from(tokens: &[TokenTree], start: usize) -> (Vec<String>, usize) {
    let (mut path, mut at) = (Vec::new(), start);
    while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
        path.push(ident.to_string());
        at += 1;
        let colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
        let goes_on = colon(tokens.get(at)) && colon(tokens.get(at + 1));
        if !goes_on || !matches!(tokens.get(at + 2), Some(TokenTree::Ident(_))) {
            break;
        }
        at += 2;
    }
    (path, at)
}

/// Whether something is compiled for tests only.
fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let condition = attribute.parse_args::<syn::Meta>();
        condition.is_ok_and(|condition| condition.path().is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for ModuleReader<'_, '_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let mut module = self.module.clone();
        module.push(item.ident.to_string());
        if item.attrs.iter().any(|attribute| attribute.path().is_ident("path")) {
            self.fault(item.span(), &module, "a module's file has the module's name");
        }
        if item.content.is_none() {
            return self.reader.read_module(module);
        }
        let outer = std::mem::replace(&mut self.module, module);
        visit::visit_item_mod(self, item);
        self.module = outer;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if self.module.is_empty() {
            self.fault(item.span(), &["use".into()], "the crate's root declares modules and imports nothing");
        }
        self.judge_use(&item.tree, &[]);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        if item.ident == "self" {
            self.fault(item.span(), &["self".into()], "names the whole crate: name the module it means");
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if segments.len() > 1 {
            self.judge(path.span(), &segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
        self.judge_tokens(item.tokens.clone());
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.judge_tokens(list.tokens.clone());
    }
}

/// What the reader finds wrong in a text that stands for one module.
fn faults(module: &[&str], text: &'static str) -> Vec<String> {
    let allowed = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>());
    let rows =
        [("low", allowed(&[])), ("middle", allowed(&["low"])), ("high", allowed(&["low", "middle"])), ("top", None)];
    let layers = rows.into_iter().map(|(name, set)| (name.to_string(), set)).collect();
    let source = Source::Text(module.iter().map(|name| name.to_string()).collect(), text);
    let mut reader = Reader::of(&layers, source);
    reader.read_root();
    reader.faults
}

#[test]
fn wrong_paths_are_found_wherever_they_hide() {
    let cases: &[(&[&str], &str)] = &[
        (&["middle"], "use crate::high::X;"),
        (&["middle"], "use crate::{low::A, high};"),
        (&["middle"], "use super::high::X;"),
        (&["middle", "part"], "use super::super::high::X;"),
        (&["middle", "part"], "mod inner { use super::super::super::high::X; }"),
        (&["middle"], "fn f() -> crate::high::X { loop {} }"),
        (&["middle"], "fn f(x: Vec<crate::high::X>) {}"),
        (&["middle"], "fn f() { g::<crate::high::X>() }"),
        (&["middle"], "impl crate::high::T for A {}"),
        (&["middle"], "fn f(x: u8) -> bool { matches!(x, crate::high::X) }"),
        (&["middle"], "macro_rules! m { () => { $crate::high::X }; }"),
        (&["middle"], "fn f() { m!(crate::{high::X}) }"),
        (&["middle"], "#[serde(with = \"crate::high::format\")] struct A;"),
        (&["middle"], "pub(in crate::high) fn f() {}"),
        (&["middle"], "use crate::*;"),
        (&["middle"], "use super::*;"),
        (&["middle"], "use crate as all;"),
        (&["middle"], "use crate::{self as all};"),
        (&["middle"], "extern crate self as all;"),
        (&["middle"], "use crate::nowhere::X;"),
        (&["middle"], "#[path = \"x.rs\"] mod a {}"),
        (&["low"], "use crate::middle::X;"),
        (&["unlisted"], "use crate::low::X;"),
        (&[], "pub use high::X;"),
    ];
    for (module, text) in cases {
        assert_eq!(faults(module, text).len(), 1, "{text}: {:?}", faults(module, text));
    }
}

#[test]
fn right_paths_and_tests_are_let_through() {
    let cases: &[(&[&str], &str)] = &[
        (&["middle"], "use crate::low::X; use std::fmt; use self::part::Y; mod part {}"),
        (&["middle", "part"], "use super::*; use super::other::X; pub(super) fn f() {} pub(crate) fn g() {}"),
        (&["middle"], "macro_rules! m { () => { pub(crate) fn f() -> $crate::low::X { loop {} } }; }"),
        (&["middle"], "#[cfg(test)] mod tests { use super::*; use crate::high::X; }"),
        (&["middle"], "#[cfg(test)] use crate::high::X;"),
        (&["middle"], "//! See [`X`](crate::high::X).\n/// And [`Y`](crate::high::Y).\nfn f() {}"),
        (&["top"], "use crate::{high::X, low::Y};"),
    ];
    for (module, text) in cases {
        assert_eq!(faults(module, text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_fault_says_where_what_and_why() {
    let found = faults(&["middle"], "\n\nuse crate::low::A;\nuse crate::high::X;");
    assert_eq!(found, ["text:4: `crate::high::X`: `middle` may import only low"]);
}
