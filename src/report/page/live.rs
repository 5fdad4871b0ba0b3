//! The page about a running manager: a static shell, and parts that are redrawn whenever they change.

use super::super::manager::{change_beside, change_sentence, manager_event, manager_facts_rows, manager_line};
use super::super::quantity::{count, counted, duration};
use super::fabric::{self, NodeWaves, Stage};
use super::parts::{self, TableField, table};
use super::{HtmlPage, document, whole_numbers, words};
use humantime::format_rfc3339_seconds;
use maud::{Markup, PreEscaped, html};
use reconfig::driver::Running;
use reconfig::fabric::{Fabric, NodeId};
use reconfig::frontend::LiveState;
use reconfig::frontend::control::{ChangeDone, ControlEvent, EventKind, KEPT_EVENTS, Status};
use reconfig::frontend::web::{PageFiles, PageParts};
use reconfig::ids::VlSet;
use reconfig::machine::ChangeProgress;
use reconfig::plan::Barrier;
use reconfig::scenario::{FabricMap, Fate};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

/// Words that a manager's page may use.
const WORDS: [&str; 14] = [
    "barrier", "double", "channel", "cut off", "data VL", "glance", "half", "lane", "LID", "SMP", "standby", "sweep",
    "trap", "wave",
];
/// The most waves that are listed.
const MOST_WAVES: usize = 60;

/// The files of the page.
pub fn live_files() -> PageFiles {
    let style = [include_str!("style.css"), include_str!("live.css")].concat();
    PageFiles { page: live_page, style, script: include_str!("live.js").to_string() }
}

/// The shell, with the parts that were drawn.
fn live_page(parts: &PageParts) -> String {
    // Escaped where they were drawn.
    let drawn = |id: &str| PreEscaped(parts.get(id).map_or("", |text| &**text));
    let part = |id: &str| html! { div id=(id) data-part { (drawn(id)) } };
    document(HtmlPage {
        title: "reconfig sm",
        head: html! { link rel="stylesheet" href="/style.css"; },
        skip: "Skip to the state",
        header: html! {
            p class="kicker" { "reconfig sm " span id="connection" role="status" { "connecting" } }
            div id="verdict" data-part aria-live="polite" { (drawn("verdict")) }
            div id="who" class="what" data-part { (drawn("who")) }
            noscript { p class="refusal" { "A script keeps this page up to date; without it the page stays as it was loaded." } }
        },
        main: html! {
            (part("figures"))
            section { (part("change")) }
            section { h2 { "The subnet" } (part("map")) }
            section {
                h2 { "Events, the newest first" }
                p class="unit" { "Each with the time of day and the seconds since the manager began." }
                (part("events"))
            }
            section { h2 { "The manager" } (part("facts")) (part("smps")) }
            (words::of(&WORDS))
        },
        script: html! { script src="/script.js" {} },
    })
}

/// What the page shows, from state to state.
#[derive(Default)]
pub struct LivePage {
    /// The newest first, each with when it was heard.
    events: VecDeque<(SystemTime, ControlEvent)>,
    /// What the map was drawn of, what it shows as gone, and the map.
    map: Option<(MapOf, Option<String>, Arc<str>)>,
    /// The change that began last, as its event told.
    begun: Option<String>,
}

/// What a map is drawn of.
struct MapOf {
    running: Option<Arc<Running>>,
    /// The change under way, with where it stood.
    change: Option<(ChangeProgress, Standing)>,
}

impl MapOf {
    fn is(&self, state: &LiveState) -> bool {
        let running = match (&self.running, &state.running) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        let change = match (&self.change, &state.progress) {
            (Some((own, stood)), Some(other)) => {
                std::ptr::eq(own.plan(), other.plan()) && *stood == Standing::of(other, &state.status)
            }
            (own, other) => own.is_none() && other.is_none(),
        };
        running && change
    }
}

/// Where a change stands.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Standing {
    /// The wave under way.
    wave: usize,
    /// How many of its barriers were passed.
    passed: usize,
}

impl Standing {
    /// A change that is held has passed one barrier more than its machine was told.
    fn of(progress: &ChangeProgress, status: &Status) -> Standing {
        Standing { wave: progress.wave(), passed: progress.passed() + usize::from(status.held.is_some()) }
    }

    /// Progress of the writes of a wave.
    fn stage(self, wave: usize) -> Stage {
        match wave.cmp(&self.wave) {
            Ordering::Less => Stage::Written,
            Ordering::Equal if self.passed > 0 => Stage::Written,
            Ordering::Equal => Stage::Writing,
            Ordering::Greater => Stage::Pending,
        }
    }
}

impl LivePage {
    /// Keeps events that were heard now, in the order in which they happened.
    pub fn hear(&mut self, now: SystemTime, events: impl IntoIterator<Item = ControlEvent>) {
        for event in events {
            if let EventKind::Begun { cause } = &event.what {
                self.begun = Some(cause.clone());
            }
            self.events.push_front((now, event));
        }
        self.events.truncate(KEPT_EVENTS);
    }

    /// The parts for a state whose events were heard.
    pub fn draw(&mut self, state: &LiveState) -> PageParts {
        let part = |markup: Markup| Arc::from(whole_numbers(&markup.into_string()));
        let status = &state.status;
        let (gone, map) = self.map(state);
        let begun = self.begun.as_deref();
        PageParts::from([
            ("verdict", part(verdict(state, begun, gone.as_deref()))),
            ("who", part(html! { (parts::capital(&manager_line(status))) })),
            ("figures", part(figures(status))),
            ("change", part(change(state))),
            ("map", map),
            ("events", part(self.events())),
            ("facts", part(parts::pairs("As it is now", manager_facts_rows(status)))),
            ("smps", part(smps(status))),
        ])
    }

    fn events(&self) -> Markup {
        html! {
            @if self.events.is_empty() { p class="none" { "Nothing has happened since the manager started." } }
            ol class="events" reversed tabindex="0" aria-label="Events" {
                @for (heard, event) in &self.events {
                    @let told = manager_event(event);
                    // Of an event of several lines, the first says what happened.
                    @let (first, rest) = told.trim().split_once('\n').unwrap_or((told.trim(), ""));
                    li class=(weight(&event.what)) {
                        b { time datetime=(format_rfc3339_seconds(*heard)) { (clock(*heard)) } "  " (first) }
                        @if !rest.is_empty() { "\n" (rest.replace("\n\n", "\n")) }
                    }
                }
            }
        }
    }

    /// Drawn again only if it differs: a large fabric takes a while.
    fn map(&mut self, state: &LiveState) -> (Option<String>, Arc<str>) {
        if let Some((_, gone, map)) = self.map.as_ref().filter(|(of, ..)| of.is(state)) {
            return (gone.clone(), map.clone());
        }
        let (gone, map) = map(state);
        let map: Arc<str> = Arc::from(map.into_string());
        let change = state.progress.clone().map(|progress| {
            let stands = Standing::of(&progress, &state.status);
            (progress, stands)
        });
        let of = MapOf { running: state.running.clone(), change };
        self.map = Some((of, gone.clone(), map.clone()));
        (gone, map)
    }
}

/// The time of day, by the clock of those who compare logs.
fn clock(at: SystemTime) -> String {
    let whole = format_rfc3339_seconds(at).to_string();
    let time = whole.split_once('T').map_or(whole.as_str(), |(_, time)| time);
    format!("{} UTC", time.trim_end_matches('Z'))
}

fn weight(what: &EventKind) -> &'static str {
    match what {
        EventKind::Warning { .. } | EventKind::Missed { .. } | EventKind::Noticed { silent: true, .. } => "warning",
        EventKind::Change { .. } | EventKind::SubnetUp { .. } | EventKind::Begun { .. } => "weighty",
        _ => "",
    }
}

fn verdict(state: &LiveState, begun: Option<&str>, gone: Option<&str>) -> Markup {
    let status = &state.status;
    let (word, class) = match (status.subnet_up, status.degraded.is_empty(), &state.progress) {
        (_, _, Some(_)) => ("changing", "busy"),
        (true, true, None) => ("up", "good"),
        (true, false, None) => ("degraded", "bad"),
        (false, ..) => ("not up", "bad"),
    };
    html! {
        h1 { span class={ "word " (class) } { (word) } " " (change_sentence(status, state.progress.as_ref())) }
        @if state.progress.is_some() { p class="beside" { (change_beside(status, begun)) } }
        @if let Some(gone) = gone { p class="beside refusal" { (gone) } }
        @if !status.aside.is_empty() { p class="beside aside" { "Set aside by order: " (status.aside.join(", ")) "." } }
        @if let Some(trouble) = &status.trouble { p class="beside refusal" { "Trouble: " (trouble) } }
        @for degraded in &status.degraded { p class="beside refusal" { "Degraded: " (degraded.in_words()) } }
        @if let Some(instead) = &status.instead { p class="beside" { (instead) } }
    }
}

fn figures(status: &Status) -> Markup {
    let traps: u64 = status.sweeps.traps.values().sum();
    let changes: u64 = status.changes.values().sum();
    parts::figures(&[
        ("switches", count(status.fabric.switches), ""),
        ("channel adapters", count(status.fabric.cas), ""),
        ("cables", count(status.fabric.links), ""),
        ("changes", count(changes), ""),
        ("SMPs sent", count(status.smps.total), ""),
        ("SMPs sent again", count(status.smps.retries), ""),
        ("traps", count(traps), ""),
        ("sweeps", count(status.sweeps.heavy), ""),
    ])
}

fn change(state: &LiveState) -> Markup {
    let status = &state.status;
    match (&state.progress, &status.last_change) {
        (Some(progress), _) => under_way(status, progress),
        (None, Some(done)) => last(done),
        (None, None) => html! { h2 { "Changes" } p class="none" { "No change yet." } },
    }
}

fn under_way(status: &Status, progress: &ChangeProgress) -> Markup {
    let (plan, stands) = (progress.plan(), Standing::of(progress, status));
    let waves = plan.waves();
    // A window of those around the one under way.
    let first = stands.wave.saturating_sub(MOST_WAVES / 2).min(waves.len().saturating_sub(MOST_WAVES));
    let rows = waves.iter().enumerate().skip(first).take(MOST_WAVES).map(|(rank, wave)| {
        let stage = stands.stage(rank);
        let barriers = wave.barriers.iter().enumerate().map(|(number, barrier)| {
            let passed = rank < stands.wave || (rank == stands.wave && number < stands.passed);
            format!("{}{}", barrier_in_words(barrier), if passed { " ✓" } else { "" })
        });
        vec![
            TableField::text(&format!("{} {}", stage.mark(), wave.name)),
            TableField::count(wave.writes.len() as u64),
            TableField::text(&barriers.collect::<Vec<_>>().join("; ")),
            TableField::text(match stage {
                Stage::Written if rank == stands.wave => "waits",
                Stage::Pending => "to come",
                stage => stage.word(),
            }),
        ]
    });
    html! {
        h2 { "The change under way" }
        @let course = progress.course();
        @if let Some(at) = course.iter().position(|own| *own == status.state) {
            ol class="course" aria-label="States of the change" {
                @for (rank, own) in course.iter().enumerate() {
                    li aria-current=[(rank == at).then_some("step")] class=(if rank < at { "over" } else { "" }) { (own) }
                }
            }
        }
        (table(
            &format!("Scheme {}, {}: each wave ends when its barriers are passed", plan.scheme(), counted(waves.len() as u64, "wave")),
            &["wave", "writes", "barriers", "now"], rows, false,
        ))
        @if waves.len() > MOST_WAVES { p class="unit" { "Of the waves, " (MOST_WAVES) " around this one are listed." } }
    }
}

fn last(done: &ChangeDone) -> Markup {
    let proved = if done.proved { "every moment proved free of deadlock" } else { "not proved" };
    let phases = done.phases.iter().map(|phase| {
        let took = phase.end_ns.saturating_sub(phase.start_ns);
        vec![TableField::text(&phase.name), TableField::ranked(duration(took), took), TableField::count(phase.smps)]
    });
    html! {
        h2 { "The last change" }
        p { b { (done.cause) } ": " (done.outcome.name()) @if let Some(reason) = &done.reason { " (" (reason) ")" } }
        @if let Some(scheme) = &done.scheme {
            p class="unit" { "Scheme " (scheme) ", " (counted(done.waves, "wave")) ", " (counted(done.writes, "write")) ", " (proved) "." }
        }
        @if !done.phases.is_empty() { (table("Its phases", &["phase", "took", "SMPs"], phases, false)) }
        (parts::named("Cut off", &done.stranded, "cutoff"))
    }
}

/// What is known and not in use, in a sentence, and the map.
fn map(state: &LiveState) -> (Option<String>, Markup) {
    let is_switch = |fabric: &Fabric, node: NodeId| fabric.node(node).is_switch();
    match (&state.progress, &state.running) {
        (Some(progress), _) => {
            let draft = progress.plan().draft();
            let is_switch = |node| is_switch(&draft.routed, node);
            // What leaves and survives was ordered out.
            let of = FabricMap::with_aside(&draft.routed, &draft.after, &draft.surviving, draft.sm, &is_switch);
            let stages = written(progress, Standing::of(progress, &state.status));
            (None, fabric::draw(&of, "live-fabric", &stages, "leaves"))
        }
        (None, Some(running)) => {
            let Running { known, routed, alive, sm, .. } = &**running;
            // Without an order what is there and not used has just come back.
            let there = if state.status.aside.is_empty() { routed } else { alive };
            let of = FabricMap::with_aside(known, routed, there, *sm, &|node| is_switch(known, node));
            (gone(&of), fabric::draw(&of, "live-fabric", &BTreeMap::new(), fabric::NOW_GONE))
        }
        (None, None) => (None, html! { p class="none" { "It is drawn once it is up." } }),
    }
}

/// What a subnet at rest lacks of all that it has had.
fn gone(map: &FabricMap) -> Option<String> {
    let is_gone = |fate: Fate| matches!(fate, Fate::Leaves | Fate::CutOff);
    let nodes =
        |is_switch: bool| map.nodes.iter().filter(|node| node.is_switch == is_switch && is_gone(node.fate)).count();
    let whole = |end: usize| map.nodes[end].fate == Fate::Stays;
    let own = map.links.iter().filter(|link| is_gone(link.fate) && whole(link.ends.0) && whole(link.ends.1));
    let cables: usize = own.map(|link| link.cables).sum();
    let counts = [(nodes(true), "switch"), (nodes(false), "host"), (cables, "cable")];
    let told: Vec<String> = counts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| counted(number as u64, name))
        .collect();
    let (last, before) = told.split_last()?;
    let all = if before.is_empty() { last.clone() } else { format!("{} and {last}", before.join(", ")) };
    Some(format!("Gone or cut off: {all} that this manager has seen before."))
}

/// Progress of the writes, device by device: a device may have further waves after one is written.
fn written(progress: &ChangeProgress, stands: Standing) -> BTreeMap<NodeId, NodeWaves> {
    let plan = progress.plan();
    let mut all: BTreeMap<NodeId, NodeWaves> = BTreeMap::new();
    for (rank, wave) in plan.waves().iter().enumerate() {
        let stage = stands.stage(rank);
        let nodes: BTreeSet<NodeId> = wave.writes.iter().filter_map(|write| write.node(&plan.draft().before)).collect();
        for node in nodes {
            let own = all.entry(node).or_default();
            own.all += 1;
            own.written += usize::from(stage == Stage::Written);
            own.writing |= stage == Stage::Writing;
        }
    }
    all
}

/// What holds once a barrier is passed.
fn barrier_in_words(barrier: &Barrier) -> String {
    let lanes = |lanes: &VlSet| {
        let numbers: Vec<String> = lanes.iter().map(|lane| lane.get().to_string()).collect();
        format!("{} {}", if numbers.len() == 1 { "lane" } else { "lanes" }, numbers.join(", "))
    };
    match barrier {
        Barrier::Acknowledged => "every write is acknowledged".to_string(),
        Barrier::Flushed(own) => format!("no packet stands in {}, and none is to go there", lanes(own)),
        Barrier::SourcesMoved => "every source sends on the new half only".to_string(),
        Barrier::Drained(own) => format!("no packet is left in {}, and none is sent into them", lanes(own)),
        Barrier::Vacated(rounds) => {
            format!("every device has sent off its packets, {}", counted((*rounds).into(), "time"))
        }
    }
}

fn smps(status: &Status) -> Markup {
    let rows = status.smps.sent.iter().map(|(attribute, methods)| {
        let of = |method: &str| methods.get(method).copied().unwrap_or(0);
        let others = methods.values().sum::<u64>() - of("Get") - of("Set");
        let counts = [of("Get"), of("Set"), others].map(TableField::count);
        [TableField::text(attribute)].into_iter().chain(counts).collect()
    });
    let total = format!(
        "SMPs: {} in all, {} again, {} answers late",
        count(status.smps.total),
        count(status.smps.retries),
        count(status.smps.late)
    );
    table(&total, &["attribute", "Get", "Set", "others"], rows, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reconfig::ids::Vl;
    use reconfig::scenario::{MapLink, MapNode};
    use std::time::Duration;

    /// Who loads it sees the state before any event of the stream.
    #[test]
    fn the_page_comes_with_the_parts_that_are_drawn() {
        let drawn = PageParts::from([("verdict", Arc::from("<h1>up</h1>")), ("smps", Arc::from("<p>none</p>"))]);
        let page = live_page(&drawn);
        for part in ["aria-live=\"polite\"><h1>up</h1></div>", "<div id=\"smps\" data-part><p>none</p></div>"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(live_page(&PageParts::new()).contains("<div id=\"smps\" data-part></div>"));
    }

    #[test]
    fn barriers_and_times_are_said_in_words() {
        let lanes = [2, 3].iter().fold(VlSet::EMPTY, |set, &lane| VlSet(set.0 | 1 << lane));
        assert!(lanes.contains(Vl::new(3).unwrap()));
        let told = barrier_in_words(&Barrier::Flushed(lanes));
        assert_eq!(told, "no packet stands in lanes 2, 3, and none is to go there");
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(3_661);
        assert_eq!(clock(at), "01:01:01 UTC");
        let node = |is_switch, fate| MapNode { node: NodeId(0), name: String::new(), is_switch, fate };
        let link = |ends, fate, cables| MapLink { ends, fate, cables };
        let stays = || node(true, Fate::Stays);
        let mut nodes = vec![node(true, Fate::Leaves), stays(), stays(), node(false, Fate::CutOff)];
        let mut links =
            vec![link((0, 1), Fate::Leaves, 4), link((1, 2), Fate::Leaves, 1), link((0, 3), Fate::CutOff, 1)];
        // What was ordered out is not among them.
        nodes.push(node(true, Fate::SetAside));
        links.extend([link((1, 4), Fate::SetAside, 2), link((1, 2), Fate::SetAside, 1)]);
        let told = gone(&FabricMap { nodes, links, in_switches: 0 }).expect("something is gone");
        assert!(told.starts_with("Gone or cut off: 1 switch, 1 host and 1 cable "), "{told}");
        let whole = FabricMap { nodes: vec![node(true, Fate::Stays)], ..FabricMap::default() };
        assert_eq!(gone(&whole), None);
        let waves = |written, all, writing| NodeWaves { written, all, writing }.stage();
        assert_eq!(waves(2, 5, false), Stage::Partly, "it is not green before its last wave is written");
        assert_eq!(waves(2, 5, true), Stage::Writing);
        assert_eq!(waves(5, 5, false), Stage::Written);
        assert_eq!(waves(0, 5, false), Stage::Pending);
    }
}
