//! The sections of a run, from what was changed to how to run it again.

use super::super::compare;
use super::super::quantity::{count, counted, duration, engine_pair, latency, percent, size_of};
use super::super::simulation::{how_foreseen, limit_in_words, others};
use super::super::unfinished::UnfinishedChange;
use super::super::{adversary, later, run, series, subnets as several};
use super::chart::{Chart, ChartLine, Form, PhaseBand, TimeAxis, TimeMark, axis_time, highest, line, short};
use super::parts::{self, TableField, named, table};
use super::timeline::timeline;
use super::{cycle, fabric, subnets, verdict};
use maud::{Markup, html};
use reconfig::scenario::{
    BinReport, Ending, EventReport, Foreseen, HostLosses, MovesReport, PhaseReport, SimulationReport, SubnetChange,
};

/// The most end ports that the table of losses holds: those that lost the most.
const MOST_HOSTS: usize = 500;

/// A run with what its charts share.
pub(super) struct Run<'a> {
    pub report: &'a SimulationReport,
    /// What the names of its elements begin with.
    id: &'a str,
    course: TimeAxis<'a>,
}

/// What is drawn over time: the end of its id, its title, its axis, how it is drawn, its lines, and how values read.
struct Kind {
    id: &'static str,
    title: &'static str,
    axis: &'static str,
    form: Form,
    lines: fn(&[BinReport]) -> Vec<ChartLine>,
    label: fn(f64) -> String,
    tick: fn(f64) -> String,
}

const THROUGHPUT: Kind = Kind {
    id: "throughput",
    title: "Throughput",
    axis: "Gbit/s delivered, all end ports together",
    form: Form::Stacked,
    lines: |bins| vec![line("delivered", "c1", bins, |bin| Some(bin.throughput_gbps()))],
    label: number,
    tick: short,
};

const LATENCY: Kind = Kind {
    id: "latency",
    title: "Latency",
    axis: "from send queue to delivery",
    form: Form::Lines,
    lines: |bins| {
        let of = |value: Option<u64>| value.map(|ns| ns as f64);
        vec![
            line("p99", "c2", bins, |bin| of(bin.latency_p99_ns)),
            line("median", "c1", bins, |bin| of(bin.latency_p50_ns)),
        ]
    },
    label: |ns| axis_time(ns.round() as u64),
    tick: |ns| axis_time(ns.round() as u64),
};

/// The name of the moment when no source sends any more.
const STOP: &str = "sources stop";

const DISCARDS: Kind = Kind {
    id: "discards",
    title: "Discards by cause",
    axis: "packets a microsecond",
    form: Form::Stacked,
    lines: |bins| {
        vec![
            line("lost to the change", "bad", bins, |bin| rate(bin, bin.lost_to_change, 1e3)),
            line("lost to the failure", "c2", bins, |bin| rate(bin, bin.lost_to_failure, 1e3)),
            line("stranded", "c4", bins, |bin| rate(bin, bin.stranded, 1e3)),
        ]
    },
    label: number,
    tick: short,
};

const PAIRS: Kind = Kind {
    id: "pairs",
    title: "Pairs without connection",
    axis: "ordered pairs of end ports",
    form: Form::Stacked,
    lines: |bins| {
        vec![
            line("out", "c2", bins, |bin| Some(bin.pairs_out as f64)),
            line("not seen since", "c2 unseen", bins, |bin| Some(bin.pairs_not_seen_again as f64)),
        ]
    },
    label: number,
    tick: short,
};

const LANES: Kind = Kind {
    id: "lanes",
    title: "Packets under way on lanes A and B",
    axis: "packets, send queues included",
    form: Form::Stacked,
    lines: |bins| {
        vec![
            line("A (SL 0–7)", "c1", bins, |bin| Some(bin.under_way[0] as f64)),
            line("B (SL 8–15)", "c3", bins, |bin| Some(bin.under_way[1] as f64)),
        ]
    },
    label: number,
    tick: short,
};

const SMPS: Kind = Kind {
    id: "smps",
    title: "Management",
    axis: "SMPs sent a millisecond",
    form: Form::Stacked,
    lines: |bins| vec![line("SMPs", "c3", bins, |bin| rate(bin, bin.smps_total(), 1e6))],
    label: number,
    tick: short,
};

/// A count of a bin as a rate, in a time of so many nanoseconds: bins of several runs are not equally long. None for a
/// bin in which no time passes.
fn rate(bin: &BinReport, count: u64, time_ns: f64) -> Option<f64> {
    let length_ns = bin.end_ns - bin.start_ns;
    (length_ns > 0).then(|| count as f64 * time_ns / length_ns as f64)
}

/// A number on an axis: with three figures where it is small.
fn number(value: f64) -> String {
    match value {
        value if value == value.round() || value >= 100.0 => count(value.round() as u64),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

impl<'a> Run<'a> {
    /// `end_ns` is where the time axis ends; by itself with the run.
    pub(super) fn new(report: &'a SimulationReport, id: &'a str, end_ns: Option<u64>) -> Run<'a> {
        let marks = &report.series.marks;
        let own_end = drawn_end_ns(report);
        let bins = &report.series.bins;
        let bins = &bins[..bins.iter().take_while(|bin| bin.end_ns <= own_end).count()];
        let band = |phase: &PhaseReport| PhaseBand {
            name: phase.name.clone(),
            start_ns: phase.start_ns,
            end_ns: phase.end_ns.max(phase.start_ns),
        };
        let mut bands: Vec<PhaseBand> =
            report.only_change().into_iter().flat_map(SubnetChange::sweep_and_phases).map(band).collect();
        let unfinished = UnfinishedChange::of(report);
        bands.extend(unfinished.map(|own| PhaseBand {
            name: "unfinished".to_string(),
            start_ns: own.start_ns,
            end_ns: own.end_ns,
        }));
        let begins = match report.departure {
            // Where more follows, all have the numbers of their table.
            _ if !report.events.is_empty() => "event 1",
            "sudden" => "failure",
            "arrival" => "arrival",
            _ => "start",
        };
        let moment = |name: &str, at_ns: Option<u64>| at_ns.map(|at_ns| TimeMark { name: name.to_string(), at_ns });
        let changes = report.has_change();
        let moments = [
            moment(begins, marks.during_ns.filter(|_| changes)),
            moment("first write", unfinished.map(|own| own.start_ns)),
            moment("deadlock", report.deadlock_ns),
            moment(STOP, marks.stop_ns),
        ];
        let drawn = |own: TimeMark| TimeMark { at_ns: own.at_ns.min(own_end), ..own };
        let moments = moments.into_iter().flatten().chain(later_marks(report)).map(drawn).collect();
        Run { report, id, course: TimeAxis { bins, bands, moments, end_ns: end_ns.unwrap_or(own_end) } }
    }

    /// Every section.
    pub(super) fn whole(&self) -> Markup {
        html! {
            (self.figures())
            // What the run ended with comes before what led to it.
            @if self.report.deadlock.is_some() { section { h2 { "The deadlock" } (self.deadlock()) } }
            (self.adversary())
            (self.change())
            (subnets::simulated(self.report))
            (self.phases())
            section {
                h2 { "Traffic over time" }
                (self.chart(&THROUGHPUT, None))
                (self.chart(&LATENCY, None))
                (self.periods())
            }
            (self.losses())
            section {
                h2 { "Lanes and management over time" }
                (self.chart(&LANES, None))
                (self.chart(&SMPS, None))
                (self.attributes())
            }
            (self.proof())
            (self.bins())
        }
    }

    fn chart(&self, kind: &Kind, name: Option<(String, f64)>) -> Markup {
        let lines = (kind.lines)(self.course.bins);
        let peak = highest(&lines, kind.form);
        let (title, top) = name.unwrap_or_else(|| (kind.title.to_string(), 0.0));
        if peak == 0.0 && top == 0.0 {
            return html! { p class="none" { b { (title) } " " (kind.axis) ": none in the whole run." } };
        }
        let whole: Vec<String> = lines.iter().map(|line| line.name.to_string()).collect();
        let about = format!(
            "{title}, {}: {} over {}; the highest value is {}.",
            kind.axis,
            whole.join(", "),
            duration(self.course.bins.last().map_or(0, |bin| bin.end_ns)),
            (kind.label)(peak)
        );
        let id = format!("{}-{}", self.id, kind.id);
        let chart = Chart {
            id,
            title,
            axis: kind.axis,
            about,
            form: kind.form,
            lines,
            label: kind.label,
            tick: kind.tick,
            note: self.note(kind),
            top,
            course: &self.course,
        };
        chart.draw()
    }

    /// What a reader is to know of a chart.
    fn note(&self, kind: &Kind) -> Option<String> {
        let outage = self.report.outage.as_ref();
        if kind.id == LATENCY.id && outage.is_some_and(|own| own.pairs > 0) {
            let why = "Only packets that arrive have a latency. It falls while pairs are without a way, because those \
                       that still deliver meet less traffic, and many have shorter paths.";
            return Some(why.to_string());
        }
        let silent = outage.map_or(0, |own| own.not_seen_again) as u64;
        (kind.id == PAIRS.id && silent > 0).then(|| {
            let pairs = counted(silent, "pair");
            format!(
                "{pairs} sent nothing more after they had lost a packet, so nothing shows whether they have a way again: \
                 the pale part counts them from then on."
            )
        })
    }

    /// The numbers that people ask for first.
    fn figures(&self) -> Markup {
        let report = self.report;
        let outage = report.outage.as_ref();
        // How long others were out says little while some are. The state of a pair that sent nothing more is unknown.
        let longest = outage.and_then(|own| own.longest.as_ref()).map_or("–".to_string(), |own| duration(own.ns));
        let outages = match outage.map_or((0, 0), |own| (own.still_out, own.not_seen_again)) {
            (0, 0) => ("longest outage", longest, ""),
            (0, silent) => ("pairs that sent nothing more", count(silent as u64), ""),
            (out, _) => ("pairs still out", count(out as u64), "bad"),
        };
        let mean = outage.and_then(|own| own.mean_ns).map_or("–".to_string(), duration);
        // Where some are not back, it is a mean of those that are, and says nothing of the others.
        let mean_of = match outage.filter(|own| own.back > 0 && own.back < own.pairs) {
            Some(own) if own.back == 1 => "outage of the one pair that is back".to_string(),
            Some(own) => format!("mean outage of the {} that are back", count(own.back as u64)),
            None => "mean outage".to_string(),
        };
        let proof_class = match (&report.proof.refusal, report.proof.status) {
            (Some(_), _) => "bad",
            (None, "proved") => "good",
            (None, _) => "",
        };
        let took = report.change_ns().map_or("–".to_string(), duration);
        let lost_class = match (report.packets.lost_to_change, report.outcome) {
            (0, Ending::Completed) if report.has_traffic() => "good",
            (0, _) => "",
            _ => "bad",
        };
        if !report.has_change() {
            let figures = [
                ("delivered", count(report.packets.delivered), ""),
                ("discarded", count(report.lost_in_all), ""),
                ("median latency", latency(report.latency_ns.before.p50), ""),
                ("throughput", percent(report.throughput.before), ""),
                ("end ports cut off", count(report.cut_off().len() as u64), ""),
            ];
            return parts::figures(&figures);
        }
        let figures = [
            ("change took", took, ""),
            ("lost to the change", count(report.packets.lost_to_change), lost_class),
            ("lost in all", count(report.lost_in_all), ""),
            outages,
            (&mean_of, mean, ""),
            (
                "end ports cut off",
                count(report.cut_off().len() as u64),
                if report.cut_off().is_empty() { "" } else { "bad" },
            ),
            ("SMPs", count(report.smps().total), ""),
            ("proof", report.proof.status.to_string(), proof_class),
        ];
        parts::figures(&figures)
    }

    fn change(&self) -> Markup {
        let cut_off = self.report.cut_off();
        if !self.report.has_change() && self.report.map.is_none() {
            return html! {};
        }
        html! {
            section {
                h2 { @if self.report.has_change() { "What changed" } @else { "The fabric, in which nothing changes" } }
                (self.events())
                @let [leaves, comes] = self.moves();
                div class="columns" {
                    (named("Removed", &leaves, "leaves"))
                    (named("Comes", &comes, "comes"))
                    (named("Cut off for good", &cut_off.iter().map(ToString::to_string).collect::<Vec<_>>(), "cutoff"))
                }
                @if cut_off.is_empty() && self.report.has_change() { p { "No end port is cut off." } }
                @if let Some(map) = &self.report.map { (fabric::draw_circle(map, &format!("{}-fabric", self.id), &self.circle())) }
            }
        }
    }

    /// The switches of the deadlock, or else of the cycle for which the proof was refused.
    fn circle(&self) -> Vec<&str> {
        let switch = |input: &'a str| input.rsplit_once('[').map_or(input, |(switch, _)| switch);
        match &self.report.deadlock {
            Some(stuck) => stuck.iter().map(|own| switch(&own.input)).collect(),
            None => cycle::switches_of(self.report.proof.evidence.as_ref()),
        }
    }

    /// Every event with its time, where there are several; and who took over.
    fn events(&self) -> Markup {
        let report = self.report;
        let first = vec![
            TableField::text("1"),
            TableField::text(&report.what),
            TableField::ranked(duration(report.event_ns), report.event_ns),
            TableField::text("the first"),
        ];
        let row = |(rank, event): (usize, &EventReport)| {
            let at = event.at_ns.map_or("–".to_string(), duration);
            vec![
                TableField::text(&(rank + 2).to_string()),
                TableField::text(&event.what),
                TableField::ranked(at, event.at_ns.unwrap_or_default()),
                TableField::text(&later::when(report, event)),
            ]
        };
        let rows = std::iter::once(first).chain(report.events.iter().enumerate().map(row));
        html! {
            @if !report.events.is_empty() {
                (table("The events; charts mark each by its number", &["event", "what", "at", "when"], rows, false))
            }
            @let standby = later::takeover(report);
            @if let Some((first, rest)) = standby.split_first() {
                p { "The standby " (first) "." @for own in rest { " " (parts::sentence(own)) } }
            }
        }
    }

    /// What leaves and what comes in the whole run; with its time where there are several events.
    fn moves(&self) -> [Vec<String>; 2] {
        let report = self.report;
        let of = |moves: &MovesReport| [moves.leaves.clone(), moves.comes.clone()];
        if report.events.is_empty() {
            return of(&report.moves);
        }
        let mut all = [Vec::new(), Vec::new()];
        let mut add = |moves: &MovesReport, when: &str| {
            let timed = of(moves).map(|names| names.into_iter().map(|name| format!("{name}, {when}")).collect());
            all.iter_mut().zip(timed).for_each(|(all, own): (_, Vec<String>)| all.extend(own));
        };
        add(&report.moves, &format!("at {}", duration(report.event_ns)));
        for event in &report.events {
            match event.at_ns {
                Some(at_ns) => add(&event.moves, &format!("at {}", duration(at_ns))),
                None => add(&event.moves, "which never happened"),
            }
        }
        all
    }

    fn phases(&self) -> Markup {
        let changes = &self.report.changes;
        let several = changes.len() > 1;
        html! {
            @if let Some(unfinished) = UnfinishedChange::of(self.report) {
                @let phases = unfinished.phases();
                section {
                    h2 { "Phases" }
                    p {
                        "The writes never came to an end, so their phases have no times of their own: when the first "
                        "was sent is known to within " (duration(self.report.series.bin_ns)) "."
                    }
                    @let name = "Phases of the change, as far as it came";
                    (timeline(&phases.iter().collect::<Vec<_>>(), &self.event_marks(), name, &format!("{}-phases", self.id)))
                }
            }
            @if changes.iter().any(|change| change.sweep_and_phases().next().is_some()) {
                section {
                    h2 { "Phases" }
                    @for (rank, change) in changes.iter().enumerate() {
                        @let phases: Vec<&PhaseReport> = change.sweep_and_phases().collect();
                        @let name = if several { format!("Phases in {}", change.subnet) } else { "Phases of the change".to_string() };
                        (timeline(&phases, &self.event_marks(), &name, &format!("{}-phases-{rank}", self.id)))
                        (table(&name, &["phase", "from", "to", "took", "SMPs"], phases.iter().map(|phase| phase_row(phase)).chain(sum_rows(change)), false))
                    }
                }
            }
        }
    }

    /// The events as the time line of phases marks them; none where there is one alone, with which it begins.
    fn event_marks(&self) -> Vec<TimeMark> {
        let first = TimeMark { name: "event 1".to_string(), at_ns: self.report.event_ns };
        let later: Vec<TimeMark> = later_marks(self.report).collect();
        std::iter::once(first).filter(|_| !self.report.events.is_empty()).chain(later).collect()
    }

    fn periods(&self) -> Markup {
        let times = self.report.latency_ns;
        let share = |name: &str| run::throughput(self.report, name);
        let rows = [
            ("before", times.before, share("before")),
            ("during", times.during, share("during")),
            ("after", times.after, share("after")),
        ];
        let rows = rows.into_iter().filter(|(name, ..)| *name != "during" || self.report.has_change());
        let rows = rows.map(|(name, own, through)| {
            let times = [own.p50, own.p99, own.max].map(|ns| TableField::ranked(latency(ns), ns));
            [TableField::text(name)].into_iter().chain(times).chain([TableField::ranked(through, 0)]).collect()
        });
        let header = ["period", "latency p50", "p99", "max", "throughput"];
        table(
            "Latency and throughput by period; throughput is a share of what the end ports can take",
            &header,
            rows,
            false,
        )
    }

    fn losses(&self) -> Markup {
        let report = self.report;
        let packets = &report.packets;
        let fates = [
            ("injected", packets.injected),
            ("delivered", packets.delivered),
            ("in flight", packets.in_flight),
            ("stranded", packets.stranded),
            ("lost to the failure", packets.lost_to_failure),
            ("lost to the change", packets.lost_to_change),
        ];
        let kept = if report.has_change() { fates.len() } else { 4 };
        let discarded = (!report.has_change()).then_some(("discarded", report.lost_in_all));
        let fates = fates.into_iter().take(kept).chain(discarded);
        let fates = fates.map(|(name, number)| vec![TableField::text(name), TableField::count(number)]);
        html! {
            section {
                h2 { "What was lost" }
                (self.chart(&DISCARDS, None))
                (self.chart(&PAIRS, None))
                (table("What became of every packet", &["fate", "packets"], fates, false))
                @if report.has_change() { @for own in others(report) { p { (parts::sentence(&own)) } } }
                (self.hosts())
            }
        }
    }

    fn hosts(&self) -> Markup {
        let mut hosts: Vec<&HostLosses> = self.report.hosts.iter().collect();
        hosts.sort_by_key(|host| std::cmp::Reverse(host.lost_sent + host.lost_received));
        let omitted = hosts.len().saturating_sub(MOST_HOSTS) as u64;
        let is_cut_off = hosts.iter().any(|host| host.cut_off > 0);
        let row = |host: &&HostLosses| {
            let out = host.not_back - host.not_seen_again;
            let lost = [host.lost_sent, host.lost_received, host.pairs, out, host.not_seen_again];
            let cut_off = [host.stranded, host.cut_off].into_iter().filter(|_| is_cut_off);
            let numbers: Vec<TableField> = lost.into_iter().chain(cut_off).map(TableField::count).collect();
            let longest = host
                .longest_ns
                .map_or(TableField::ranked("–".to_string(), 0), |ns| TableField::ranked(duration(ns), ns));
            [TableField::text(&host.name)].into_iter().chain(numbers).chain([longest]).collect()
        };
        let header = ["end port", "lost, sent by it", "lost, sent to it", "pairs", "still out", "not seen again"];
        let header = header.into_iter();
        let cut_off = ["stranded", "cut-off pairs that sent"].into_iter().filter(|_| is_cut_off);
        let header: Vec<&str> = header.chain(cut_off).chain(["longest outage"]).collect();
        let caption = match is_cut_off {
            true => {
                "Losses by end port, from the event on, the most first; stranded are packets of pairs with an end that \
                 left or is cut off, which are not among the lost; of these pairs those are counted whose packets were \
                 discarded, and not all that are without a way"
            }
            false => "Losses by end port, from the event on, the most first",
        };
        html! {
            @if !hosts.is_empty() {
                details open[hosts.len() <= 40] {
                    summary { "Who lost what: " (counted(hosts.len() as u64, "end port")) }
                    (table(caption, &header, hosts.iter().take(MOST_HOSTS).map(row), true))
                    @if omitted > 0 {
                        p class="unit" { (counted(omitted, "end port")) " that lost less are not shown; --csv has all." }
                    }
                }
            }
        }
    }

    fn deadlock(&self) -> Markup {
        let Some(cycle) = &self.report.deadlock else { return html! {} };
        let rows = cycle.iter().map(|stuck| {
            vec![
                TableField::text(&format!("{} VL {}", stuck.input, stuck.input_vl)),
                TableField::text(&format!("{} VL {}", stuck.output, stuck.output_vl)),
                TableField::count(stuck.dlid.into()),
                TableField::count(stuck.sl.into()),
                TableField::ranked(duration(stuck.born_ns), stuck.born_ns),
            ]
        });
        let caption = "The cycle: each packet waits for the buffer that the next one fills";
        html! {
            (cycle::stuck(cycle, &format!("{}-stuck", self.id)))
            (table(caption, &["held in", "waits for", "DLID", "SL", "sent at"], rows, false))
            @if let Some(limit) = limit_in_words(self.report) { p { (parts::sentence(&limit)) } }
            @if let Some(foresight) = &self.report.foresight {
                p { (parts::capital(how_foreseen(foresight.how))) @if !how_foreseen(foresight.how).ends_with(':') { "." } }
                @if let (Foreseen::Possible, Some(cycle)) = (foresight.how, &foresight.cycle) {
                    ul { @for own in &cycle.dependencies { li { (own) } } }
                }
            }
        }
    }

    /// Who steered traffic and writes, and how: the same facts as on the screen.
    fn adversary(&self) -> Markup {
        let Some(own) = &self.report.adversary else { return html! {} };
        let steps = own.schedule.iter().flat_map(|schedule| &schedule.steps);
        let mut steps = steps
            .map(|step| vec![TableField::text(&duration(step.at_ns)), TableField::text(&adversary::action(&step.what))])
            .peekable();
        html! {
            section {
                h2 { "The adversary" }
                p { "This run is no ordinary traffic: " (verdict::adversary_did(own)) " " b { (parts::sentence(&adversary::how(own))) } }
                @if let Some(why) = &own.why { p { (parts::sentence(why)) } }
                @if let Some(schedule) = &own.schedule {
                    @if steps.peek().is_some() {
                        (table("Packets and writes, in the order in which it had them come", &["at", "step"], steps, false))
                    }
                    p { (parts::sentence(&adversary::sent(schedule))) }
                    details {
                        summary { "The packets that are to wait for each other in wave " (schedule.wave) ", and their ways" }
                        pre tabindex="0" { (adversary::ways_of(schedule).collect::<Vec<_>>().join("\n")) }
                    }
                }
            }
        }
    }

    fn attributes(&self) -> Markup {
        let smps = self.report.smps();
        let rows =
            smps.by_attribute.iter().map(|(name, &number)| vec![TableField::text(name), TableField::count(number)]);
        html! {
            @if !smps.by_attribute.is_empty() {
                details {
                    summary { "SMPs by attribute: " (counted(smps.total, "SMP")) }
                    (table("SMPs that managers sent", &["method and attribute", "count"], rows, true))
                }
            }
        }
    }

    fn proof(&self) -> Markup {
        let report = self.report;
        let proof = &report.proof;
        let numbers = [
            ("waves", proof.waves),
            ("channels that can be occupied", proof.channels),
            ("dependencies between lanes", proof.dependencies),
        ];
        let engine = engine_pair(&report.engine, report.engine_after.as_deref());
        let roots = report.only_change().map_or_else(String::new, run::roots);
        let routing = vec![TableField::text("routing"), TableField::value(&format!("{engine}{roots}"))];
        // Of several subnets only the whole is proved: within each of them nothing is to be seen of the others.
        let whole = proof.whole.as_ref().filter(|_| proof.refusal.is_none());
        let whole = whole.map(|whole| parts::sentence(&several::proof(whole, None, !report.routers.is_empty())));
        // Where nothing changes there is no plan, and nothing to prove of one.
        if !report.has_change() {
            return html! {
                section {
                    h2 { "The routing" }
                    (table("The routing in force", &["what", "value"], [routing].into_iter(), false))
                    @if let Some(whole) = &whole { p { (whole) } }
                    @if let Some(refusal) = &proof.refusal { (parts::refusal(refusal)) }
                    (parts::notes(&report.notes))
                }
            };
        }
        let status = vec![TableField::text("proof before the first write"), TableField::value(proof.status)];
        let rows = [vec![TableField::text("scheme"), TableField::value(&compare::name(report))], routing, status];
        // A proof that was refused counted nothing.
        let numbers =
            numbers.into_iter().filter(|(name, _)| (proof.refusal.is_none() && whole.is_none()) || *name == "waves");
        let counts =
            numbers.map(|(name, number)| vec![TableField::text(name), TableField::value(&count(number as u64))]);
        html! {
            section {
                h2 { "Plan and proof" }
                (table("The plan in numbers", &["what", "value"], rows.into_iter().chain(counts), false))
                @if let Some(whole) = &whole { p { (whole) } }
                @if let Some(refusal) = &proof.refusal { (parts::refusal(refusal)) }
                @if let Some(cycle) = &proof.cycle { (cycle::refused(cycle, &format!("{}-cycle", self.id))) }
                (parts::assumed(report.assumptions.iter().map(String::as_str)))
                (parts::notes(&report.notes))
            }
        }
    }

    /// The bins as a table: what the charts show, for those who read numbers.
    fn bins(&self) -> Markup {
        let bins = &self.report.series.bins;
        let rows = bins.iter().map(|bin| series::bin(bin).into_iter().map(TableField::plain).collect());
        html! {
            section {
                h2 { "In numbers" }
                details class="bins" {
                    summary { "Every chart in numbers: " (counted(bins.len() as u64, "bin")) " of " (duration(self.report.series.bin_ns)) }
                    (table("The time series, with the columns of series.csv", &series::SERIES, rows, false))
                }
            }
        }
    }
}

/// Where the charts of a run end: with the run, or soon after its sources have stopped if it then waits long for
/// packets that are stuck.
pub(super) fn drawn_end_ns(report: &SimulationReport) -> u64 {
    let bins = &report.series.bins;
    let end_ns = bins.last().map_or(1, |bin| bin.end_ns);
    let Some(stop_ns) = report.series.marks.stop_ns else { return end_ns };
    let soon_ns = stop_ns + stop_ns / 20;
    match bins.iter().find(|bin| bin.end_ns >= soon_ns) {
        Some(bin) if end_ns > stop_ns + stop_ns / 4 => bin.end_ns,
        _ => end_ns,
    }
}

/// The charts that compare runs: one of a kind for each run, on one scale.
pub(super) fn shared(runs: &[Run<'_>]) -> Markup {
    html! {
        @for kind in [&THROUGHPUT, &DISCARDS, &PAIRS, &LATENCY] {
            h3 { (kind.title) " " span class="unit" { (kind.axis) } }
            @let top = runs.iter().map(|run| highest(&(kind.lines)(run.course.bins), kind.form)).fold(0.0, f64::max);
            div class="multiples" {
                @for run in runs {
                    @let id = format!("{}-shared", run.id);
                    (Run { id: &id, course: run.course.shared(), ..*run }.chart(kind, Some((compare::name(run.report), top))))
                }
            }
        }
    }
}

impl<'a> TimeAxis<'a> {
    /// This axis with fewer names, for which small charts have no room.
    fn shared(&self) -> TimeAxis<'a> {
        let band = |band: &PhaseBand| PhaseBand { name: String::new(), ..*band };
        TimeAxis {
            bins: self.bins,
            bands: self.bands.iter().map(band).collect(),
            // The moment when sources stop is the same in all, and has no room for its name.
            moments: self.moments.iter().filter(|own| own.name != STOP).cloned().collect(),
            end_ns: self.end_ns,
        }
    }
}

/// The settings that runs of one change depend on, beside their command.
pub(super) fn settings(reports: &[SimulationReport]) -> Vec<(&'static str, String)> {
    let report = reports.first().expect("a page shows a run");
    let settings = &report.settings;
    let hash = |own: &SimulationReport| format!("{:016x}", own.trace_hash);
    let hashes = match reports {
        [only] => hash(only),
        several => {
            let named = |own: &SimulationReport| format!("{} {}", compare::name(own), hash(own));
            several.iter().map(named).collect::<Vec<_>>().join(", ")
        }
    };
    let size = &report.fabric;
    let [link_ns, routing_ns] = [settings.link_delay_ns, settings.routing_delay_ns].map(u64::from);
    let periods = [settings.warm_up_ns, settings.before_ns, settings.after_ns];
    vec![
        ("seed", report.seed.to_string()),
        (if reports.len() == 1 { "trace hash" } else { "trace hashes" }, hashes),
        ("fabric", size_of(size.switches, (size.cas, "CA"), size.links)),
        ("load", percent(settings.load)),
        ("packet", counted(settings.packet_bytes.into(), "byte")),
        ("send queue of a host", counted(settings.send_queue.into(), "packet")),
        ("input buffer of a lane", format!("{} of 64 bytes", counted(settings.buffer_credits.into(), "credit"))),
        ("packets that turn back", if settings.turn_back { "sent back" } else { "discarded" }.to_string()),
        ("flight of a link, routing delay", format!("{}, {}", duration(link_ns), duration(routing_ns))),
        ("warm-up, before, after", periods.map(duration).join(", ")),
        ("data VLs, LMC", format!("{}, {}", settings.data_vls, settings.lmc)),
        ("devices", format!("{} (drain by {})", settings.devices.profile.name(), settings.drain)),
    ]
}

/// What happened after the first event, by its number.
fn later_marks(report: &SimulationReport) -> impl Iterator<Item = TimeMark> {
    let mark = |(rank, event): (usize, &EventReport)| {
        event.at_ns.map(|at_ns| TimeMark { name: format!("event {}", rank + 2), at_ns })
    };
    report.events.iter().enumerate().filter_map(mark)
}

fn phase_row(phase: &PhaseReport) -> Vec<TableField> {
    let took = phase.end_ns.saturating_sub(phase.start_ns);
    let times = [phase.start_ns, phase.end_ns, took].map(|ns| TableField::ranked(duration(ns), ns));
    [TableField::text(&phase.name)].into_iter().chain(times).chain([TableField::count(phase.smps)]).collect()
}

/// What passed and was sent outside of the phases, and the sums of all.
fn sum_rows(change: &SubnetChange) -> Vec<Vec<TableField>> {
    let none = || TableField::plain(String::new());
    let row = |(name, ns, smps): (&str, u64, u64)| {
        vec![TableField::text(name), none(), none(), TableField::ranked(duration(ns), ns), TableField::count(smps)]
    };
    run::sums(change).into_iter().flatten().map(row).collect()
}
