//! A page on paper, by the keyboard alone, and as a screen reader hears it.

use super::looks::{FAT_TREE, QUICK, written};
use crate::support::browser::{self, Browser};
use serde_json::Value;
use std::path::Path;

/// A browser that shows the page of a removal, which has a chart of every kind, sorted tables and folded parts.
fn shown(folder: &Path) -> Browser {
    let text = written(&[&["simulate", FAT_TREE, "--remove-root"], &QUICK[..]].concat(), folder);
    let mut browser = Browser::start(folder);
    let (_, complaints) = browser.load(&text, 1400, folder);
    assert_eq!(complaints, Vec::<String>::new());
    browser
}

/// On paper nothing can be opened: what is folded is printed, bins apart, and folded again afterwards.
#[test]
fn a_printed_page_is_white_has_no_buttons_and_shows_what_is_folded() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut browser = shown(folder.path());
    let folded = "[...document.querySelectorAll('details:not(.bins)')].map(own => own.open)";
    let before = browser.value(folded);
    let number = before.as_array().map_or(0, Vec::len);
    assert!(number > 3 && before.to_string().contains("false"), "{before}");
    browser.value(&format!("addEventListener('beforeprint', () => {{ window.printed = {folded}; }})"));
    let document = browser.printed();
    assert!(document.starts_with(b"%PDF-") && document.len() > 50_000, "{} bytes", document.len());
    assert_eq!(browser.value("printed"), Value::from(vec![true; number]), "it is printed unfolded");
    assert_eq!(browser.value(folded), before, "it is folded again");

    browser.emulate_paper();
    let colours = "['body', 'section'].map(own => getComputedStyle(document.querySelector(own)).backgroundColor)";
    assert_eq!(browser.value(colours), Value::from(vec!["rgb(255, 255, 255)"; 2]));
    let shown = "[...document.querySelectorAll('.skip, .hint, .hit')].filter(own => own.checkVisibility()).length";
    assert_eq!(browser.value(shown), 0, "nothing is printed that only a screen can use");
    let arrow = "getComputedStyle(document.querySelector('th button'), '::after').content";
    assert_eq!(browser.value(arrow), "none", "a heading is no button");
}

/// Who has no mouse reaches a heading by Tab, sees where the focus is, and sorts by Enter.
#[test]
fn tab_reaches_a_heading_and_enter_sorts_by_it() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut browser = shown(folder.path());
    browser.value("document.querySelectorAll('details').forEach(own => own.open = true)");
    browser.press("Tab");
    let skip =
        browser.value("[document.activeElement.className, document.activeElement.getBoundingClientRect().left >= 0]");
    assert_eq!(skip, serde_json::json!(["skip", true]), "the link past the header is seen once it has the focus");
    let is_heading = "document.activeElement.matches('.sortable th.number button')";
    for _ in 0..100 {
        browser.press("Tab");
        let [style, width] = ["outlineStyle", "outlineWidth"]
            .map(|own| browser.value(&format!("getComputedStyle(document.activeElement).{own}")));
        assert_eq!(
            (style, width),
            ("solid".into(), "2px".into()),
            "{}",
            browser.value("document.activeElement.outerHTML")
        );
        if browser.value(is_heading) == true {
            break;
        }
    }
    assert_eq!(browser.value(is_heading), true, "a heading is reached");
    let sorted = "(() => {
        const heading = document.activeElement.closest('th');
        const rows = [...heading.closest('table').tBodies[0].rows];
        return [heading.ariaSort, rows.map(row => Number(row.cells[heading.cellIndex].dataset.rank))];
    })()";
    for direction in ["descending", "ascending"] {
        browser.press("Enter");
        let now = browser.value(sorted);
        let ranks: Vec<f64> = serde_json::from_value(now[1].clone()).expect("numbers");
        let falls = |pair: &[f64]| if direction == "descending" { pair[0] >= pair[1] } else { pair[0] <= pair[1] };
        assert_eq!(now[0], direction);
        assert!(ranks.len() > 2 && ranks.windows(2).all(falls) && ranks[0] != ranks[ranks.len() - 1], "{ranks:?}");
    }
    let marked = "document.activeElement.closest('table').querySelectorAll('[aria-sort]').length";
    assert_eq!(browser.value(marked), 1, "one column at a time is said to be sorted");
}

/// A chart is told by its name, and then by what it shows; a table by its caption and its headings.
#[test]
fn a_screen_reader_hears_what_charts_show_and_what_tables_are() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut browser = shown(folder.path());
    browser.value("document.querySelectorAll('details').forEach(own => own.open = true)");
    let told = browser.accessible();
    let of = |role: &str| told.iter().filter(|own| own.role == role).collect::<Vec<_>>();
    let charts = of("image");
    let drawn = browser.value("document.querySelectorAll('main svg').length");
    assert_eq!(drawn, charts.len());
    assert!(charts.len() > 5, "{} charts", charts.len());
    for own in charts {
        assert!(!own.name.is_empty() && own.description.len() > 20, "{own:?}");
        assert!(!own.name.contains(&own.description), "it is not said twice: {own:?}");
    }
    for own in ["table", "columnheader", "rowheader", "button"].map(of) {
        assert!(own.len() > 4, "{own:?}");
        assert!(own.iter().all(|own| !own.name.is_empty() || own.role == "columnheader"), "{own:?}");
    }
}
