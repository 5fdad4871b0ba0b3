//! Published tables beside ours.

use super::quantity::counted;
use super::screen::{line, number, show, table};
use comfy_table::Cell as Field;
use reconfig::reproduce::{Band, Cell, ResultTable, Study, StudyRequest};

/// Every table with each figure as `paper → ours`, those outside their bands marked, and how many are inside; with
/// `bands`, each figure on a line of its own: paper, ours, band, inside.
pub fn reproduction(request: &StudyRequest, tables: &[ResultTable], bands: bool) -> String {
    let mut text = String::new();
    let StudyRequest { study, fabrics, seed, .. } = request;
    line(
        &mut text,
        format_args!("{}; {} a row, from seed {seed}\n", study.paper(), counted(*fabrics as u64, "fabric")),
    );
    for one in tables {
        line(&mut text, format_args!("{}: {}", one.name, one.title));
        if one.over_time {
            let moments = counted(one.rows.len() as u64, "moment");
            line(
                &mut text,
                format_args!(" {moments} of {}: see --plot FILE, or --csv FILE\n", one.columns.join(" and ")),
            );
            continue;
        }
        if bands {
            each(&mut text, one);
            continue;
        }
        let mut screen = table();
        let header = one.columns.iter().map(number);
        screen.set_header([Field::new(one.key)].into_iter().chain(header));
        for row in &one.rows {
            screen
                .add_row([Field::new(&row.name)].into_iter().chain(row.cells.iter().map(|cell| number(figure(cell)))));
        }
        show(&mut text, &screen);
        if has_unmeasured(one) {
            line(&mut text, format_args!("{UNMEASURED}"));
        }
        outside(&mut text, one);
    }
    if let Some(fewer) = fewer_fabrics(request, tables) {
        line(&mut text, format_args!("{fewer}"));
    }
    let unjudged = unjudged(tables);
    let (inside, banded) = sums(tables);
    let (verdict, unjudged) = match (banded, unjudged) {
        (0, None) => (UNCOMPARED.to_string(), String::new()),
        (0, Some(note)) => ("measured".to_string(), format!("; {note}")),
        (_, note) => (
            format!("{inside} of {banded} figures are inside their bands (paper → ours; ! outside)"),
            note.map(|note| format!("; {note}")).unwrap_or_default(),
        ),
    };
    line(&mut text, format_args!("{verdict}{unjudged}"));
    text
}

/// The verdict where ours are the only figures.
pub(super) const UNCOMPARED: &str = "measured; no paper gives figures to compare with";

/// Figures inside their bands, and figures with bands.
pub(super) fn sums(tables: &[ResultTable]) -> (usize, usize) {
    tables.iter().map(ResultTable::inside).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// What fewer fabrics than the default mean; none where there are as many.
pub(super) fn fewer_fabrics(request: &StudyRequest, tables: &[ResultTable]) -> Option<String> {
    let default = request.study.fabrics();
    let missed = match request.study {
        _ if sums(tables).1 == 0 => "",
        Study::Seed000 => " With fewer, minima and maxima can miss their bands.",
        _ => " With fewer, means can miss their bands.",
    };
    let fabrics = counted(request.fabrics as u64, "fabric");
    (request.fabrics < default).then(|| format!("{fabrics} a row; the default is {default}.{missed}"))
}

/// How many of the paper's figures are shown and not judged, in words; none if all are judged.
pub(super) fn unjudged(tables: &[ResultTable]) -> Option<String> {
    match tables.iter().map(ResultTable::unjudged).sum::<usize>() as u64 {
        0 => None,
        1 => Some("1 figure of the paper is not judged".to_string()),
        many => Some(format!("{} of the paper are not judged", counted(many, "figure"))),
    }
}

/// One line a figure.
fn each(text: &mut String, one: &ResultTable) {
    let mut screen = table();
    let numbers = ["paper", "ours", "band", "inside"].map(number);
    screen.set_header([Field::new(one.key), Field::new("figure")].into_iter().chain(numbers));
    for (row, column, cell) in one.cells() {
        let decimals = cell.decimals.max(1);
        let band = match cell.band {
            Band::Between(..) if cell.is_claim => held(1.0).to_string(),
            Band::Between(least, most) => format!("{least:.decimals$} to {most:.decimals$}"),
            Band::Open => "open".to_string(),
        };
        let paper = paper(cell).unwrap_or_else(|| "-".to_string());
        let inside = cell.inside.map_or("-", |inside| if inside { "yes" } else { "NO" });
        let numbers = [paper, ours(cell), band, inside.to_string()].map(number);
        screen.add_row([Field::new(row), Field::new(column.trim_end())].into_iter().chain(numbers));
    }
    show(text, &screen);
}

/// Why a figure of ours may be a dash.
pub(super) const UNMEASURED: &str = "–: nothing to measure, such as a latency while nothing arrived";

/// Whether a table has figures where there was nothing to measure.
pub(super) fn has_unmeasured(table: &ResultTable) -> bool {
    table.cells().any(|(_, _, cell)| cell.ours.is_nan())
}

fn ours(cell: &Cell) -> String {
    match cell.ours {
        ours if ours.is_nan() => "–".to_string(),
        ours if cell.is_claim => held(ours).to_string(),
        ours => format!("{:.*}", cell.decimals, ours),
    }
}

fn paper(cell: &Cell) -> Option<String> {
    let paper = cell.paper?;
    Some(if cell.is_claim { held(paper).to_string() } else { plain(paper) })
}

/// Whether a property holds, by its figure.
fn held(figure: f64) -> &'static str {
    if figure == 1.0 { "holds" } else { "does not hold" }
}

pub(super) fn figure(cell: &Cell) -> String {
    let mark = if cell.inside == Some(false) { " !" } else { "" };
    match paper(cell) {
        Some(paper) => format!("{paper} → {}{mark}", ours(cell)),
        None => format!("{}{mark}", ours(cell)),
    }
}

/// As the paper prints it.
fn plain(figure: f64) -> String {
    let text = format!("{figure:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The figures outside their bands, and what those are.
fn outside(text: &mut String, table: &ResultTable) {
    let outside = table.cells().filter(|(_, _, cell)| cell.inside == Some(false));
    let mut any = false;
    for (row, column, cell) in outside {
        if let Band::Between(least, most) = cell.band {
            any = true;
            if cell.is_claim {
                line(text, format_args!("! {row} {}: {}", column.trim(), ours(cell)));
                continue;
            }
            let decimals = cell.decimals.max(1);
            let band = format_args!("{least:.decimals$} to {most:.decimals$}");
            line(text, format_args!("! {row} {}: {:.decimals$} is not within {band}", column.trim(), cell.ours));
        }
    }
    if any {
        if table.may_be_outside > 0 {
            let (inside, banded) = table.inside();
            let (out, may) = (banded - inside, table.may_be_outside);
            line(text, format_args!("{out} of {banded} are outside, and {may} may be"));
        }
        text.push('\n');
    }
}
