//! The page about published tables and ours.

use super::super::quantity::{count, counted};
use super::super::reproduction::{UNCOMPARED, UNMEASURED, fewer_fabrics, figure, has_unmeasured, sums, unjudged};
use super::parts::{self, TableField, table_of};
use super::{Origin, ResultPage};
use maud::{Markup, PreEscaped, html};
use reconfig::reproduce::{Band, Cell, ResultTable, StudyRequest, plot};

/// The page of `reconfig reproduce`.
pub fn reproduction_page(request: &StudyRequest, tables: &[ResultTable], origin: &Origin) -> String {
    let (inside, banded) = sums(tables);
    // As the exit code has it.
    let is_reproduced = tables.iter().all(ResultTable::is_reproduced);
    let page = ResultPage {
        command: "reproduce",
        word: match banded {
            0 => ("measured", "good"),
            _ if is_reproduced => ("reproduced", "good"),
            _ => ("some figures differ", "bad"),
        },
        sentence: match (banded, unjudged(tables)) {
            (0, None) => parts::sentence(UNCOMPARED),
            (0, Some(note)) => format!("Measured; {note}."),
            (_, note) => {
                let judged = counted(banded as u64, "figure");
                let note = note.map(|note| format!("; {note}")).unwrap_or_default();
                let allowance: String = tables.iter().filter_map(|own| allowed(own, tables.len())).collect();
                format!("{} of {judged} are inside their bands{allowance}{note}.", count(inside as u64))
            }
        },
        beside: fewer_fabrics(request, tables).into_iter().collect(),
        what: request.study.paper().to_string(),
        body: html! {
            @for one in tables { (section(one)) }
            (parts::again(origin, vec![
                ("fabrics for each row", count(request.fabrics as u64)),
                ("seed of the first", request.seed.to_string()),
            ]))
        },
    };
    page.render(origin.version)
}

/// How many figures of a table may be outside, if some are.
fn allowed(one: &ResultTable, tables: usize) -> Option<String> {
    let (inside, banded) = one.inside();
    let whose = if tables == 1 { "this table" } else { &one.name };
    (inside < banded && one.may_be_outside > 0)
        .then(|| format!("; up to {} of {whose} may be outside", one.may_be_outside))
}

/// The text with digits in groups of three before the point.
fn grouped(text: &str) -> String {
    let digits = text.chars().collect::<Vec<char>>();
    let mut told = String::new();
    let mut is_fraction = false;
    for (at, &letter) in digits.iter().enumerate() {
        told.push(letter);
        is_fraction = match letter {
            '.' => true,
            own if own.is_ascii_digit() => is_fraction,
            _ => false,
        };
        let before = digits[..=at].iter().rev().take_while(|own| own.is_ascii_digit()).count();
        let after = digits[at + 1..].iter().take_while(|own| own.is_ascii_digit()).count();
        if !is_fraction && before > 0 && after > 0 && after % 3 == 0 {
            told.push('\u{a0}');
        }
    }
    told
}

fn section(one: &ResultTable) -> Markup {
    let header: Vec<&str> = [one.key].into_iter().chain(one.columns.iter().map(|own| own.trim())).collect();
    let rows = one.rows.iter().map(|row| {
        let cells = row.cells.iter().map(field);
        [TableField::text(&row.name)].into_iter().chain(cells).collect()
    });
    let has_paper = one.cells().any(|(_, _, cell)| cell.paper.is_some());
    let caption = match (has_paper, one.inside().1) {
        (false, _) => None,
        (true, 0) => Some("paper → ours"),
        (true, _) => Some("paper → ours, and below it the band for ours; ! outside its band"),
    };
    let figures = table_of(&one.title, caption, &header, rows, false);
    html! {
        section {
            h2 { (one.title) " " span class="unit" { (one.name) } }
            @if one.over_time {
                figure class="plot" {
                    div class="scroll" tabindex="0" role="img" aria-label=(one.title) {
                        (PreEscaped(plot(std::slice::from_ref(one))))
                    }
                }
                details class="bins" { summary { "The " (one.rows.len()) " moments as numbers" } (figures) }
            } @else { (figures) }
            @for (why, columns) in reasons(one) {
                p class="unit" { "Not judged (" (columns.join(", ")) "): " (why) "." }
            }
            @if has_unmeasured(one) { p class="unit" { (UNMEASURED) "." } }
        }
    }
}

/// A figure, with its band or with the word that it is not judged.
fn field(cell: &Cell) -> TableField {
    let shown = TableField::plain(grouped(&figure(cell)));
    let decimals = cell.decimals.max(1);
    match (cell.inside, cell.band) {
        (Some(false), _) if cell.is_claim => shown.amiss(),
        (Some(true), _) if cell.is_claim => shown,
        (Some(is_inside), Band::Between(least, most)) => {
            let band = match least == most {
                true => format!("exactly {:.*}", cell.decimals, least),
                false => format!("{least:.decimals$}–{most:.decimals$}"),
            };
            let shown = shown.over(grouped(&band));
            if is_inside { shown } else { shown.amiss() }
        }
        _ if cell.paper.is_some() => shown.over("not judged".to_string()).unjudged(),
        _ => shown,
    }
}

/// Why figures of the paper are not judged, each reason with its columns.
fn reasons(one: &ResultTable) -> Vec<(&'static str, Vec<&str>)> {
    let mut reasons: Vec<(&'static str, Vec<&str>)> = Vec::new();
    for (_, column, cell) in one.cells() {
        let Some(why) = cell.unjudged else { continue };
        let at = reasons.iter().position(|(own, _)| *own == why).unwrap_or_else(|| {
            reasons.push((why, Vec::new()));
            reasons.len() - 1
        });
        let columns = &mut reasons[at].1;
        if !columns.contains(&column.trim()) {
            columns.push(column.trim());
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use reconfig::reproduce::{ResultRow, Study};

    fn cell(paper: Option<f64>, ours: f64, band: Band) -> Cell {
        let inside = match band {
            Band::Between(least, most) => Some((least..=most).contains(&ours)),
            Band::Open => None,
        };
        Cell { paper, ours, band, inside, decimals: 0, is_claim: false, unjudged: None }
    }

    /// A page of one table with one row, and its lead.
    fn page(study: Study, cells: Vec<Cell>, may_be_outside: usize) -> (String, String) {
        let columns = (0..cells.len()).map(|rank| format!("column {rank}")).collect();
        let rows = vec![ResultRow { name: "row".to_string(), cells }];
        let (name, title) = (format!("{study} 2"), "Title".to_string());
        let key = "conf.";
        let table =
            ResultTable { name, title, key, columns, rows, may_be_outside, over_time: false, mixed_units: false };
        let origin = Origin { command: String::new(), version: "", digest: None, files: Vec::new() };
        let page = reproduction_page(&StudyRequest { fabrics: 2, ..StudyRequest::of(study, 1) }, &[table], &origin);
        let lead = page.split("</header>").next().expect("a header").replace('\u{a0}', " ");
        (page, lead)
    }

    #[test]
    fn badge_and_exit_code_agree_on_what_may_be_outside() {
        let judged = |outside: usize| -> Vec<Cell> {
            let ours = |rank| if rank < outside { 9.0 } else { 1.0 };
            (0..45).map(|rank| cell(Some(1.0), ours(rank), Band::Between(0.0, 2.0))).collect()
        };
        let (text, lead) = page(Study::Seed002, judged(5), 5);
        assert!(lead.contains("<span class=\"word good\">reproduced</span>"), "{lead}");
        let told = "40 of 45 figures are inside their bands; up to 5 of this table may be outside.";
        assert!(lead.contains(told), "{lead}");
        assert!(text.contains("<h2>Title <span class=\"unit\">seed-002 2</span></h2>"), "{text}");
        assert!(text.contains("<td class=\"number refusal\">1 → 9 !<small>0.0–2.0</small></td>"), "{text}");
        assert!(text.contains("<th scope=\"col\" class=\"number\">column 0</th>"), "a heading is no figure: {text}");
        let (_, lead) = page(Study::Seed002, judged(6), 5);
        assert!(lead.contains("<span class=\"word bad\">some figures differ</span>"), "{lead}");
    }

    #[test]
    fn what_is_not_judged_does_not_look_confirmed() {
        let claim = |ours| Cell { is_claim: true, ..cell(Some(1.0), ours, Band::Between(1.0, 1.0)) };
        let open = Cell { unjudged: Some("it is printed twice"), ..cell(Some(1000.0), 7.0, Band::Open) };
        let (text, _) = page(Study::Seed002, vec![claim(1.0), claim(0.0), open], 0);
        for part in [
            "<td class=\"number\">holds → holds</td>",
            "<td class=\"number refusal\">holds → does not hold !</td>",
            "<td class=\"number unjudged\">1\u{a0}000 → 7<small>not judged</small></td>",
            "Not judged (column 2): it is printed twice.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let (text, lead) = page(Study::Seed003, vec![cell(None, 7.0, Band::Open)], 0);
        assert!(lead.contains("Measured; no paper gives figures to compare with."), "{lead}");
        assert!(!text.contains("<caption>") || !text.contains("paper → ours"), "{text}");
    }

    #[test]
    fn long_numbers_are_grouped() {
        let cases = [
            ("17790", "17\u{a0}790"),
            ("99352.57", "99\u{a0}352.57"),
            ("1000 → 1234567 !", "1\u{a0}000 → 1\u{a0}234\u{a0}567 !"),
        ];
        for (plain, wanted) in
            cases.into_iter().chain([("0.123456", "0.123456"), ("–", "–"), ("-12345", "-12\u{a0}345")])
        {
            assert_eq!(grouped(plain), wanted);
        }
    }
}
