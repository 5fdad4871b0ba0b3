//! The page about published tables and ours.

use super::super::quantity::{count, counted};
use super::super::reproduction::{UNMEASURED, figure, has_unmeasured, unjudged};
use super::parts::{self, TableField, table};
use super::{Origin, ResultPage};
use maud::{Markup, PreEscaped, html};
use reconfig::reproduce::{ResultTable, StudyRequest, plot};

/// The page of `reconfig reproduce`.
pub fn reproduction_page(request: &StudyRequest, tables: &[ResultTable], origin: &Origin) -> String {
    let sums = tables.iter().map(ResultTable::inside).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let (inside, banded) = (sums.0 as u64, sums.1 as u64);
    let page = ResultPage {
        command: "reproduce",
        word: match banded {
            0 => ("measured", "good"),
            _ if inside == banded => ("reproduced", "good"),
            _ => ("some figures differ", "bad"),
        },
        sentence: {
            let judged = match banded {
                0 => "No figures have bands".to_string(),
                _ => format!("{} of {} are inside their bands", count(inside), counted(banded, "figure")),
            };
            let unjudged = unjudged(tables).map(|note| format!("; {note}")).unwrap_or_default();
            format!("{judged}{unjudged}.")
        },
        beside: Vec::new(),
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

/// The text with digits in groups of three before the point where there are five or more.
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
        if !is_fraction && before > 0 && after > 0 && after % 3 == 0 && before + after >= 5 {
            told.push('\u{a0}');
        }
    }
    told
}

fn section(one: &ResultTable) -> Markup {
    let header: Vec<&str> = [one.key].into_iter().chain(one.columns.iter().map(|own| own.trim())).collect();
    let rows = one.rows.iter().map(|row| {
        let cells = row.cells.iter().map(|cell| match cell.inside {
            Some(false) => TableField::plain(grouped(&figure(cell))).amiss(),
            _ => TableField::plain(grouped(&figure(cell))),
        });
        [TableField::text(&row.name)].into_iter().chain(cells).collect()
    });
    let figures = table(&format!("{} (paper → ours; ! outside its band)", one.title), &header, rows, false);
    html! {
        section {
            h2 { (one.name) }
            @if one.over_time {
                figure class="plot" {
                    div class="scroll" tabindex="0" role="img" aria-label=(one.title) {
                        (PreEscaped(plot(std::slice::from_ref(one))))
                    }
                }
                details class="bins" { summary { "The " (one.rows.len()) " moments as numbers" } (figures) }
            } @else { (figures) }
            @if has_unmeasured(one) { p class="unit" { (UNMEASURED) "." } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_grouped() {
        let cases = [
            ("17790", "17\u{a0}790"),
            ("99352.57", "99\u{a0}352.57"),
            ("1000 → 1234567 !", "1000 → 1\u{a0}234\u{a0}567 !"),
        ];
        for (plain, wanted) in
            cases.into_iter().chain([("0.123456", "0.123456"), ("–", "–"), ("-12345", "-12\u{a0}345")])
        {
            assert_eq!(grouped(plain), wanted);
        }
    }
}
