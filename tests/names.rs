//! One name, one meaning: no type name that is visible beyond its own file stands for two types of the package.
//!
//! Read from the syntax tree of `src`, the binary's modules included, and of the plugin. Types that the macros of
//! `wire` declare count like any other. Exempt: what stands under `#[cfg(test)]`, and the names of [`SHARED`].

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::{Attribute, Ident, Item, Visibility};

/// Names that stand for several types, each with the reason.
const SHARED: [(&str, &str); 3] = [
    ("Arguments", "each command of the command line has its own, and none leaves its file but for `run`"),
    ("Grh", "the header as routers go by it, and its forty bytes on the wire"),
    ("PortState", "a state that a plan writes, and every state that PortInfo has a code for"),
];

/// The macros that declare types: the first identifier after the attributes is the name.
const DECLARING: [&str; 5] = ["attribute", "layout", "record", "wire_enum", "wire_format"];

#[test]
fn each_type_name_stands_for_one_type() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in ["src", "opensm-plugin/src"].iter().flat_map(|folder| sources(&root.join(folder))) {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        for name in declared(&tree.items) {
            found.entry(name).or_default().push(shown.clone());
        }
    }
    assert!(found.len() > 400, "only {} types were found: the reader misses most", found.len());
    assert!(found.contains_key("PathRecord"), "types that macros declare are not found");
    let is_shared = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
    let twice: Vec<String> = found
        .iter()
        .filter(|(name, files)| files.len() > 1 && !is_shared(name))
        .map(|(name, files)| format!("{name}: {}", files.join(", ")))
        .collect();
    assert!(twice.is_empty(), "names that stand for several types:\n{}", twice.join("\n"));
    for (name, _) in SHARED {
        assert!(found.get(name).is_some_and(|files| files.len() > 1), "{name} stands for one type now: off the list");
    }
}

#[test]
fn a_name_that_stands_twice_is_found_wherever_it_is_declared() {
    let declared = |text: &str| declared(&syn::parse_file(text).unwrap().items);
    assert_eq!(
        declared("pub struct A; pub(super) enum B {} pub(crate) trait C {} pub type D = A;"),
        ["A", "B", "C", "D"]
    );
    assert_eq!(declared("pub mod inner { pub struct A; }"), ["A"]);
    assert_eq!(declared("attribute! { /// What it is.\n #[derive(Debug)] A { x: u8 = 0, 8; } }"), ["A"]);
    let none: [&str; 0] = [];
    assert_eq!(declared("struct Private; macro_rules! layout { () => {} }"), none);
    assert_eq!(declared("#[cfg(test)] mod tests { pub struct A; }"), none);
}

/// Every Rust file below a folder, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// The names of the types that are visible beyond these items.
fn declared(items: &[Item]) -> Vec<String> {
    let mut names = Vec::new();
    for item in items {
        let (attributes, visibility, ident): (&[Attribute], &Visibility, &Ident) = match item {
            Item::Struct(item) => (&item.attrs, &item.vis, &item.ident),
            Item::Enum(item) => (&item.attrs, &item.vis, &item.ident),
            Item::Union(item) => (&item.attrs, &item.vis, &item.ident),
            Item::Trait(item) => (&item.attrs, &item.vis, &item.ident),
            Item::Type(item) => (&item.attrs, &item.vis, &item.ident),
            Item::Mod(item) if !is_test(&item.attrs) => {
                names.extend(item.content.iter().flat_map(|(_, items)| declared(items)));
                continue;
            }
            Item::Macro(item) if item.mac.path.segments.last().is_some_and(|last| declares(&last.ident)) => {
                names.extend(first_name(item.mac.tokens.clone()));
                continue;
            }
            _ => continue,
        };
        if !is_test(attributes) && !matches!(visibility, Visibility::Inherited) {
            names.push(ident.to_string());
        }
    }
    names
}

fn declares(name: &Ident) -> bool {
    DECLARING.iter().any(|declaring| name == declaring)
}

fn is_test(attributes: &[Attribute]) -> bool {
    let under_test = |attribute: &Attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<Ident>().is_ok_and(|name| name == "test")
    };
    attributes.iter().any(under_test)
}

/// The first identifier outside of groups: attributes hold theirs in brackets.
fn first_name(tokens: TokenStream) -> Option<String> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    })
}
