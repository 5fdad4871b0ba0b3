//! The fabric drawn: switches in levels over their hosts, or in a ring where every switch has hosts. A fabric of many
//! nodes is folded: hosts into a number at their switch, then switches that stay into one box a level. Elements that
//! are removed, added, set aside or cut off are drawn individually.

use super::super::quantity::{count, counted};
use super::{chart::px, parts};
use maud::{Markup, html};
use reconfig::fabric::NodeId;
use reconfig::scenario::{FabricMap, Fate};
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;

/// The word for elements of a running subnet that are absent already.
pub(super) const NOW_GONE: &str = "gone";
const WIDTH: f64 = 960.0;
/// Nodes that are drawn one by one, hosts among them.
const MOST_NODES: usize = 200;
/// Switches that are drawn one by one where hosts are folded.
const MOST_SWITCHES: usize = 120;
/// Elements that do not stay, and are drawn by themselves in a folded fabric.
const MOST_APART: usize = 40;

/// Something that is drawn: a node, or several that are folded.
#[derive(Clone, PartialEq, Debug)]
struct Shape {
    /// What is written in it or beside it.
    label: String,
    /// What it stands for, in full.
    about: String,
    is_host: bool,
    /// How many switches are folded into it; 0 for a node by itself.
    folded: usize,
    fate: Fate,
    /// Hosts under it that are not drawn.
    hosts: usize,
    /// Progress of the writes of the current change at the nodes in it: number of nodes by [`Stage`].
    stages: [usize; 4],
    /// Of a node by itself: how many of its waves are written, and how many there are.
    waves: Option<[usize; 2]>,
    /// Its row, 0 for hosts, 1 for the switches over them.
    level: usize,
    x: f64,
    y: f64,
    /// How wide it may be.
    width: f64,
    /// Whether its name is written upwards, since it has no room beside the others of its row.
    is_upright: bool,
}

/// Progress of the writes of the current change at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Pending,
    /// Some waves that write to it are over, and others are still to be run.
    Partly,
    Writing,
    Written,
}

/// How many waves write to a node, and how many of these are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct NodeWaves {
    pub written: usize,
    pub all: usize,
    /// Whether the wave under way is among them.
    pub writing: bool,
}

impl NodeWaves {
    pub(super) fn stage(self) -> Stage {
        match self.written {
            _ if self.writing => Stage::Writing,
            0 => Stage::Pending,
            written if written < self.all => Stage::Partly,
            _ => Stage::Written,
        }
    }
}

impl Stage {
    const ALL: [Stage; 4] = [Stage::Pending, Stage::Partly, Stage::Writing, Stage::Written];

    pub(super) fn word(self) -> &'static str {
        match self {
            Stage::Pending => "to be written",
            Stage::Partly => "written in part",
            Stage::Writing => "being written",
            Stage::Written => "written in full",
        }
    }

    /// What tells it apart without colour.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Stage::Pending => "○",
            Stage::Partly => "◔",
            Stage::Writing => "◐",
            Stage::Written => "●",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Stage::Pending => "pending",
            Stage::Partly => "partly",
            Stage::Writing => "writing",
            Stage::Written => "written",
        }
    }
}

/// What is drawn between two shapes.
type Lines = BTreeMap<(usize, usize, Fate), usize>;

struct Drawing<'a> {
    /// The reader's word for what is absent afterwards.
    leaves: &'a str,
    shapes: Vec<Shape>,
    lines: Lines,
    height: f64,
    /// Elements that do not stay and have found no place.
    omitted: usize,
    /// The channels of a circle, each from a shape to the next.
    waits: Vec<(usize, usize)>,
}

/// The fabric as a figure, with the progress of the current change at each node that it writes to. `leaves` is the
/// reader's word for elements that are absent afterwards.
pub(super) fn draw(map: &FabricMap, id: &str, stages: &BTreeMap<NodeId, NodeWaves>, leaves: &str) -> Markup {
    figure(map, id, (stages, leaves), &[])
}

/// The fabric as a figure, with the channels of a circle. `circle` names its switches in order: a lane of each waits
/// for one that leads to the next.
pub(super) fn draw_circle(map: &FabricMap, id: &str, circle: &[&str]) -> Markup {
    figure(map, id, (&BTreeMap::new(), "removed"), circle)
}

fn figure(
    map: &FabricMap,
    id: &str,
    (stages, leaves): (&BTreeMap<NodeId, NodeWaves>, &str),
    circle: &[&str],
) -> Markup {
    let drawing = Drawing::of(map, stages, leaves, circle);
    let (title, about) = (format!("{id}-title"), format!("{id}-about"));
    let fates = |wanted: Fate| map.nodes.iter().filter(|node| node.fate == wanted).count();
    let has_links = |fate: Fate| map.links.iter().any(|link| link.fate == fate);
    html! {
        figure class="map" {
            figcaption {
                b { "The fabric" } " " span class="unit" { (size(map, leaves)) }
                span class="legend" {
                    @for fate in MOVES.into_iter().filter(|&fate| fates(fate) > 0 || has_links(fate)) {
                        span { i class={ "key " (class(fate)) } {} (word(fate, leaves)) }
                    }
                    @for stage in Stage::ALL.into_iter().filter(|_| !stages.is_empty()) {
                        span { (stage.mark()) " " (stage.word()) }
                    }
                    @if !circle.is_empty() { span { b class="arrow bad" { "→ " } "a lane here waits for one of the next" } }
                    @if !stages.is_empty() { span { "2/5: two of its five waves are written" } }
                }
            }
            div class="scroll" tabindex="0" role="group" aria-label="The fabric" {
                svg viewBox={ "0 0 " (WIDTH) " " (px(drawing.height)) } role="img" aria-labelledby=(title) aria-describedby=(about) {
                    title id=(title) { "The fabric" }
                    desc id=(about) {
                        (described(map, leaves))
                        @if !circle.is_empty() { " Lanes wait for each other in a cycle: " (circle.join(" → ")) " → " (circle[0]) "." }
                    }
                    @for (&(a, b, fate), &cables) in &drawing.lines { (drawing.line((a, b), fate, cables)) }
                    @for &ends in &drawing.waits { (drawing.wait(ends)) }
                    @for shape in &drawing.shapes { (shape.draw()) }
                }
            }
            @if drawing.omitted > 0 {
                p class="unit" { (counted(drawing.omitted as u64, "element")) " more that do not stay are not drawn." }
            }
        }
    }
}

/// How much is drawn, and how much of it is not in use, as figures beside the drawing count it.
fn size(map: &FabricMap, leaves: &str) -> String {
    let switches = map.nodes.iter().filter(|node| node.is_switch).count();
    let cables: usize = map.links.iter().map(|link| link.cables).sum();
    let ends = map.nodes.len() - switches;
    let [switches, ends, cables] = [switches, ends, cables].map(|number| number as u64);
    let within = match map.in_switches {
        0 => String::new(),
        nodes => format!("; {} within switches not drawn", counted(nodes as u64, "node")),
    };
    let is_out = |fate: Fate| matches!(fate, Fate::Leaves | Fate::SetAside | Fate::CutOff);
    let nodes = |is_switch: bool| map.nodes.iter().filter(|own| own.is_switch == is_switch && is_out(own.fate)).count();
    let links = map.links.iter().filter(|own| is_out(own.fate)).map(|own| own.cables).sum();
    let out = [(nodes(true), "switch"), (nodes(false), "host"), (links, "cable")];
    let out: Vec<String> =
        out.into_iter().filter(|(own, _)| *own > 0).map(|(own, name)| counted(own as u64, name)).collect();
    let when = if leaves == NOW_GONE { "" } else { " afterwards" };
    let out = if out.is_empty() { String::new() } else { format!("; not in use{when}: {}", out.join(", ")) };
    format!("{}, {}, {}{within}{out}", counted(switches, "switch"), counted(ends, "host"), counted(cables, "cable"))
}

/// The most elements of a fate that a description names.
const MOST_DESCRIBED: usize = 20;

fn described(map: &FabricMap, leaves: &str) -> String {
    let named = |fate: Fate| {
        let nodes = map.nodes.iter().filter(|node| node.fate == fate).map(|node| node.name.clone());
        // The cables of a node that does not stay go with it.
        let stays = |end: usize| map.nodes[end].fate == Fate::Stays;
        let own = map.links.iter().filter(|link| link.fate == fate && stays(link.ends.0) && stays(link.ends.1));
        let cables = own.map(|link| {
            let [a, b] = [link.ends.0, link.ends.1].map(|end| &map.nodes[end].name);
            format!("{} {a} – {b}", counted(link.cables as u64, "cable"))
        });
        nodes.chain(cables).take(MOST_DESCRIBED).collect::<Vec<_>>().join(", ")
    };
    let told = MOVES
        .map(|fate| (named(fate), parts::capital(word(fate, leaves))))
        .into_iter()
        .filter(|(names, _)| !names.is_empty())
        .map(|(names, word)| format!(" {word}: {names}."));
    format!("{}.{}", size(map, leaves), told.collect::<String>())
}

/// What is told of by itself.
const MOVES: [Fate; 4] = [Fate::Leaves, Fate::SetAside, Fate::Comes, Fate::CutOff];

fn class(fate: Fate) -> &'static str {
    match fate {
        Fate::Stays => "stays",
        Fate::Comes => "comes",
        Fate::CutOff => "cutoff",
        Fate::SetAside => "aside",
        Fate::Leaves => "leaves",
    }
}

/// Behind a name; nothing where nothing becomes of it.
fn in_brackets(fate: Fate, leaves: &str) -> String {
    if fate == Fate::Stays { String::new() } else { format!(" ({})", word(fate, leaves)) }
}

/// What becomes of an element, in words; `leaves` is the reader's word for what is absent afterwards.
fn word(fate: Fate, leaves: &str) -> &str {
    match fate {
        Fate::Stays => "stays",
        Fate::Comes => "comes",
        Fate::CutOff => "cut off",
        Fate::SetAside => "set aside",
        Fate::Leaves => leaves,
    }
}

/// By node: 0 for a host, 1 for a switch with hosts, one more for each step away from those. A switch that no cable
/// joins with any of them is on the first level.
fn levels(map: &FabricMap) -> Vec<usize> {
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); map.nodes.len()];
    for link in &map.links {
        near[link.ends.0].push(link.ends.1);
        near[link.ends.1].push(link.ends.0);
    }
    let mut levels: Vec<Option<usize>> = map.nodes.iter().map(|node| (!node.is_switch).then_some(0)).collect();
    let mut row: Vec<usize> = (0..map.nodes.len()).filter(|&node| levels[node].is_some()).collect();
    for level in 1.. {
        let next: BTreeSet<usize> = row.iter().flat_map(|&node| &near[node]).copied().collect();
        row = next.into_iter().filter(|&node| levels[node].is_none()).collect();
        row.iter().for_each(|&node| levels[node] = Some(level));
        if row.is_empty() {
            break;
        }
    }
    levels.into_iter().map(|level| level.unwrap_or(1)).collect()
}

impl<'a> Drawing<'a> {
    fn of(map: &FabricMap, stages: &BTreeMap<NodeId, NodeWaves>, leaves: &'a str, circle: &[&str]) -> Drawing<'a> {
        let levels = levels(map);
        let switches = map.nodes.iter().filter(|node| node.is_switch).count();
        let folds_hosts = map.nodes.len() > MOST_NODES;
        let folds_switches = folds_hosts && switches > MOST_SWITCHES;
        let (shapes, lines, waits) = (Vec::new(), Lines::new(), Vec::new());
        let mut drawing = Drawing { leaves, shapes, lines, height: 0.0, omitted: 0, waits };
        let place = drawing.fold(map, &levels, (folds_hosts, folds_switches), circle);
        let place_of = |name: &str| map.nodes.iter().position(|node| node.name == name).and_then(|rank| place[rank]);
        let circle: Vec<Option<usize>> = circle.iter().map(|name| place_of(name)).collect();
        let next = circle.iter().cycle().skip(1);
        drawing.waits = circle.iter().zip(next).filter_map(|(a, b)| a.zip(*b)).filter(|(a, b)| a != b).collect();
        for (node, place) in map.nodes.iter().zip(&place) {
            if let (Some(stage), Some(shape)) = (stages.get(&node.node), *place) {
                drawing.shapes[shape].stages[stage.stage() as usize] += 1;
                drawing.shapes[shape].waves = Some([stage.written, stage.all]);
            }
        }
        for link in &map.links {
            let (Some(a), Some(b)) = (place[link.ends.0], place[link.ends.1]) else { continue };
            if a != b {
                *drawing.lines.entry((a.min(b), a.max(b), link.fate)).or_default() += link.cables;
            }
        }
        let top = levels.iter().copied().max().unwrap_or_default();
        match top {
            // Every switch has hosts: no level is above another.
            0 | 1 if switches > 2 && !folds_switches => drawing.in_a_ring(),
            _ => drawing.in_rows(top),
        }
        drawing.label();
        drawing
    }

    /// Takes from the names of a level what all of them share, where one has no room: their ends alone would read the
    /// same at every switch of a make.
    fn label(&mut self) {
        let mut levels: BTreeMap<usize, Vec<&mut Shape>> = BTreeMap::new();
        for shape in self.shapes.iter_mut().filter(|shape| !shape.is_host && shape.folded == 0) {
            levels.entry(shape.level).or_default().push(shape);
        }
        for mut level in levels.into_values() {
            let names: Vec<&str> = level.iter().map(|shape| shape.label.as_str()).collect();
            // The longest name has the widest box.
            let room = level.iter().map(|shape| shape.letters()).max().unwrap_or_default();
            let own: Vec<String> = apart(&names, room).into_iter().map(str::to_string).collect();
            level.iter_mut().zip(own).for_each(|(shape, own)| shape.label = own);
        }
    }

    /// Makes the shapes. Returns the shape of each node; none for hosts that are folded into a number, and what has
    /// found no place.
    fn fold(
        &mut self,
        map: &FabricMap,
        levels: &[usize],
        (hosts, switches): (bool, bool),
        circle: &[&str],
    ) -> Vec<Option<usize>> {
        let mut apart = 0;
        let mut boxes: BTreeMap<usize, usize> = BTreeMap::new();
        let mut place: Vec<Option<usize>> = Vec::with_capacity(map.nodes.len());
        for (node, &level) in map.nodes.iter().zip(levels) {
            let stays = node.fate == Fate::Stays;
            // What waits in a circle is drawn by itself, as what does not stay is.
            let waits = apart < MOST_APART && circle.contains(&node.name.as_str());
            let folds = if node.is_switch { switches && stays && !waits } else { hosts && stays };
            let crowded = hosts && !stays && apart >= MOST_APART;
            place.push(match (folds, node.is_switch) {
                _ if crowded => {
                    self.omitted += 1;
                    None
                }
                (true, false) => None,
                (true, true) => {
                    let shape = *boxes.entry(level).or_insert_with(|| self.add(Shape::folded(level)));
                    self.shapes[shape].folded += 1;
                    Some(shape)
                }
                (false, _) => {
                    apart += usize::from(!stays || waits);
                    let about = format!("{}{}", node.name, in_brackets(node.fate, self.leaves));
                    Some(self.add(Shape::of(node.name.clone(), about, !node.is_switch, node.fate, level)))
                }
            });
        }
        for shape in self.shapes.iter_mut().filter(|shape| shape.folded > 0) {
            shape.label = counted(shape.folded as u64, "switch");
            shape.about = format!("{} of level {}", shape.label, shape.level);
        }
        for link in map.links.iter().filter(|_| hosts) {
            let (a, b) = link.ends;
            for (host, over) in [(a, b), (b, a)] {
                let folded = !map.nodes[host].is_switch && place[host].is_none() && map.nodes[over].is_switch;
                if let (true, Some(shape)) = (folded, place[over]) {
                    self.shapes[shape].hosts += link.cables;
                }
            }
        }
        place
    }

    fn add(&mut self, shape: Shape) -> usize {
        self.shapes.push(shape);
        self.shapes.len() - 1
    }

    /// Rows, the highest level above; each row ordered by what is below it.
    fn in_rows(&mut self, top: usize) {
        let has_hosts = self.shapes.iter().any(|shape| shape.is_host);
        let rows = if has_hosts { top + 1 } else { top.max(1) };
        let below: Vec<Vec<usize>> = self.neighbours();
        // From the switches over hosts upwards, then hosts under the switches.
        for level in (1..=top).chain([0]) {
            let mut row: Vec<usize> =
                (0..self.shapes.len()).filter(|&shape| self.shapes[shape].level == level).collect();
            let centre = |shape: &usize| {
                let near: Vec<f64> = below[*shape]
                    .iter()
                    .filter(|&&other| match level {
                        0 => self.shapes[other].level > 0,
                        _ => self.shapes[other].level + 1 == level && !self.shapes[other].is_host,
                    })
                    .map(|&other| self.shapes[other].x)
                    .collect();
                near.iter().sum::<f64>() / near.len().max(1) as f64
            };
            let centres: BTreeMap<usize, f64> = row.iter().map(|shape| (*shape, centre(shape))).collect();
            row.sort_unstable_by(|a, b| centres[a].total_cmp(&centres[b]).then(a.cmp(b)));
            let width = WIDTH / row.len().max(1) as f64;
            for (rank, shape) in row.into_iter().enumerate() {
                let own = &mut self.shapes[shape];
                own.x = width * (rank as f64 + 0.5);
                // As wide as its name, where the row has room.
                own.width = own.width.max(width_of(&own.label) + 8.0).min(0.88 * width);
                // Above the highest row there is no room for taller boxes.
                let is_switch = !own.is_host && own.folded == 0;
                own.is_upright = is_switch && level < top && (UPRIGHT.0..NARROW).contains(&own.width);
                own.y = 34.0 + 92.0 * (if has_hosts { top - level } else { top.saturating_sub(level) }) as f64;
            }
        }
        self.height = 34.0 + 92.0 * (rows.saturating_sub(1)) as f64 + if has_hosts { 22.0 } else { 44.0 };
        if !has_hosts && self.shapes.iter().any(|shape| shape.is_upright) {
            self.height += (UPRIGHT.1 - SWITCH.1) / 2.0;
        }
    }

    /// Switches in a ring, hosts outside.
    fn in_a_ring(&mut self) {
        let near = self.neighbours();
        let (cx, cy) = (WIDTH / 2.0, 260.0);
        let switches: Vec<usize> = (0..self.shapes.len()).filter(|&shape| !self.shapes[shape].is_host).collect();
        let at = |turn: f64, (rx, ry): (f64, f64)| (cx + rx * (turn * TAU).sin(), cy - ry * (turn * TAU).cos());
        for (rank, &shape) in switches.iter().enumerate() {
            let turn = rank as f64 / switches.len() as f64;
            (self.shapes[shape].x, self.shapes[shape].y) = at(turn, (300.0, 180.0));
            let hosts: Vec<usize> = near[shape].iter().copied().filter(|&other| self.shapes[other].is_host).collect();
            for (own, host) in hosts.iter().enumerate() {
                let spread = 0.8 / switches.len() as f64;
                let shift = (own as f64 + 0.5) / hosts.len() as f64 - 0.5;
                (self.shapes[*host].x, self.shapes[*host].y) = at(turn + spread * shift, (400.0, 235.0));
            }
        }
        self.height = 2.0 * cy;
    }

    fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut near = vec![Vec::new(); self.shapes.len()];
        for &(a, b, _) in self.lines.keys() {
            near[a].push(b);
            near[b].push(a);
        }
        near
    }

    /// A channel of a circle: an arrow from switch to switch.
    fn wait(&self, (a, b): (usize, usize)) -> Markup {
        let (from, to) = (&self.shapes[a], &self.shapes[b]);
        let at = |part: f64, aside: f64| {
            let (dx, dy) = (to.x - from.x, to.y - from.y);
            let length = dx.hypot(dy).max(1.0);
            let along = part - 2.2 * aside.abs() / length;
            (from.x + dx * along - dy / length * aside, from.y + dy * along + dx / length * aside)
        };
        let head = [at(0.62, 0.0), at(0.62, 4.5), at(0.62, -4.5)].map(|(x, y)| format!("{},{}", px(x), px(y)));
        html! {
            g class="wait" {
                line x1=(px(from.x)) y1=(px(from.y)) x2=(px(to.x)) y2=(px(to.y)) {
                    title { "a lane from " (from.about) " to " (to.about) " is in the cycle" }
                }
                polygon points=(head.join(" ")) {}
            }
        }
    }

    fn line(&self, (a, b): (usize, usize), fate: Fate, cables: usize) -> Markup {
        let (from, to) = (&self.shapes[a], &self.shapes[b]);
        let told = format!(
            "{} – {}: {}{}",
            from.about,
            to.about,
            counted(cables as u64, "cable"),
            in_brackets(fate, self.leaves)
        );
        html! {
            line class={ "cable " (class(fate)) } x1=(px(from.x)) y1=(px(from.y)) x2=(px(to.x)) y2=(px(to.y)) {
                title { (told) }
            }
        }
    }
}

impl Shape {
    fn of(name: String, about: String, is_host: bool, fate: Fate, level: usize) -> Shape {
        Shape {
            label: name,
            about,
            is_host,
            folded: 0,
            fate,
            hosts: 0,
            stages: [0; 4],
            waves: None,
            level,
            x: 0.0,
            y: 0.0,
            width: SWITCH.0,
            is_upright: false,
        }
    }

    fn folded(level: usize) -> Shape {
        Shape { width: FOLDED.0, ..Shape::of(String::new(), String::new(), false, Fate::Stays, level) }
    }

    /// Of a box of several, what is still to be done in it.
    fn stage(&self) -> Option<Stage> {
        [Stage::Writing, Stage::Partly, Stage::Pending, Stage::Written]
            .into_iter()
            .find(|stage| self.stages[*stage as usize] > 0)
    }

    /// Its name, and the progress of the change.
    fn title(&self) -> String {
        let told = Stage::ALL.into_iter().filter(|stage| self.stages[*stage as usize] > 0).map(|stage| {
            let nodes = self.stages[stage as usize];
            if self.folded > 0 { format!(", {nodes} {}", stage.word()) } else { format!(", {}", stage.word()) }
        });
        let waves = self.waves.filter(|_| self.folded == 0);
        let waves = waves.map(|[written, all]| format!(": {written} of {}", counted(all as u64, "wave")));
        told.chain(waves).fold(self.about.clone(), |title, part| title + &part)
    }

    fn draw(&self) -> Markup {
        let stage = self.stage().map_or("", Stage::class);
        let kind = if self.is_host { "host" } else { "switch" };
        let class = [kind, class(self.fate), stage].join(" ").trim_end().to_string();
        if self.is_host {
            let r = (self.width / 2.0).min(5.0);
            return html! {
                circle class=(class) cx=(px(self.x)) cy=(px(self.y)) r=(px(r)) { title { (self.title()) } }
                @if self.fate != Fate::Stays { (self.cross(r)) }
            };
        }
        let height = match self.folded {
            _ if self.is_upright => UPRIGHT.1,
            0 => SWITCH.1,
            _ => FOLDED.1,
        };
        // The end of a name tells nothing in fewer than four letters.
        let letters = self.letters();
        let has_room = letters >= 4 || self.label.chars().count() <= letters;
        // Of a number of switches the number is what counts.
        let label = match width_of(&self.label) > self.room() && self.folded > 0 {
            true => count(self.folded as u64),
            false => fitted(&self.label, letters, self.room()),
        };
        let turned = self.is_upright.then(|| format!("rotate(-90 {} {})", px(self.x), px(self.y)));
        let [left, top] = [self.x - self.width / 2.0, self.y - height / 2.0].map(px);
        html! {
            rect class=(class) x=(left) y=(top) width=(px(self.width)) height=(px(height)) rx="5" {
                title { (self.title()) }
            }
            @if let Some(stage) = self.stage() {
                text class="stage" x=(px(self.x)) y=(px(self.y - height / 2.0 - 4.0)) {
                    (stage.mark())
                    @if let Some([written, all]) = self.waves.filter(|_| self.folded == 0) { " " (written) "/" (all) }
                    @if self.folded > 0 { " " (self.stages[Stage::Written as usize]) " of " (self.stages.iter().sum::<usize>()) }
                }
            }
            @if has_room {
                text class={ "name " (class) } x=(px(self.x)) y=(px(self.y + 4.0)) transform=[turned] { (label) }
            }
            @if self.fate == Fate::SetAside {
                text class="under" x=(px(self.x)) y=(px(self.y + height / 2.0 + 14.0)) { (word(self.fate, "")) }
            } @else if self.hosts > 0 && self.width > 14.0 {
                text class="under" x=(px(self.x)) y=(px(self.y + height / 2.0 + 14.0)) {
                    (count(self.hosts as u64)) @if self.folded > 0 { " hosts" }
                    title { (counted(self.hosts as u64, "host")) " at " (self.about) }
                }
            }
        }
    }

    /// How many letters it has room for.
    fn letters(&self) -> usize {
        (self.room() / LETTER).max(0.0) as usize
    }

    /// The length of a line of letters in it.
    fn room(&self) -> f64 {
        if self.is_upright { UPRIGHT.1 - 5.0 } else { self.width - 5.0 }
    }

    /// What tells it apart without colour.
    fn cross(&self, r: f64) -> Markup {
        let [left, right, top, bottom] = [self.x - r, self.x + r, self.y - r, self.y + r].map(px);
        html! { path class={ "mark " (class(self.fate)) } d={ "M" (left) " " (top) "L" (right) " " (bottom) "M" (left) " " (bottom) "L" (right) " " (top) } {} }
    }
}

/// Width and height of a switch, and of a box of several.
const SWITCH: (f64, f64) = (72.0, 26.0);
/// How wide a letter of a name is, on average.
const LETTER: f64 = 6.6;
const FOLDED: (f64, f64) = (150.0, 34.0);
/// A switch whose name is written upwards: the least width, and the height.
const UPRIGHT: (f64, f64) = (14.0, 64.0);
/// The width below which a box has no room for four letters side by side.
const NARROW: f64 = 33.0;

/// How wide a name is at most, as fonts without serifs have it.
fn width_of(name: &str) -> f64 {
    let width = |letter: char| match letter {
        'i' | 'j' | 'l' | 'I' | 'J' => 3.6,
        'r' | 't' | 'f' | '.' | ',' | ':' | ';' | '/' | '-' | ' ' | '(' | ')' | '[' | ']' => 4.8,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' => 6.8,
        'm' | 'w' | 'M' | 'W' | '@' | '…' => 11.8,
        letter if letter.is_ascii_digit() => 7.7,
        letter if letter.is_uppercase() => 8.6,
        _ => 7.5,
    };
    name.chars().map(width).sum()
}

/// A name that fits, of so many letters at most, in so much room.
fn fitted(name: &str, letters: usize, room: f64) -> String {
    let shorter = (1..=letters).rev().map(|most| short(name, most));
    let fits = |name: &String| width_of(name) <= room;
    shorter.clone().find(fits).unwrap_or_else(|| short(name, 1))
}

/// What parts the words of a name.
const BETWEEN_WORDS: [char; 6] = ['/', '-', '_', ':', ';', ' '];

/// Names without the words that all of them share, where one of them has no room: first without those at their ends,
/// then without as many of those at their beginnings, which say more, as it takes.
fn apart<'a>(names: &[&'a str], room: usize) -> Vec<&'a str> {
    let mut own = names.to_vec();
    let is_cut = |own: &[&str]| own.len() > 1 && own.iter().any(|name| name.chars().count() > room);
    let tails =
        names.first().into_iter().flat_map(|first| first.match_indices(BETWEEN_WORDS).map(|(at, _)| &first[at..]));
    let is_shared = |tail: &&str| names.iter().all(|name| name.len() > tail.len() && name.ends_with(*tail));
    if let Some(tail) = tails.into_iter().find(is_shared).filter(|_| is_cut(names)) {
        own.iter_mut().for_each(|name| *name = &name[..name.len() - tail.len()]);
    }
    while is_cut(&own) {
        let Some(end) = own[0].find(BETWEEN_WORDS).map(|at| at + 1) else { break };
        let head = &own[0][..end];
        if !own.iter().all(|name| name.len() > end && name.starts_with(head)) {
            break;
        }
        own.iter_mut().for_each(|name| *name = &name[end..]);
    }
    own
}

/// A name that fits: its end, which tells names of one kind apart, from the beginning of a word where that is not much
/// shorter.
pub(super) fn short(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_string();
    }
    let cut = name.char_indices().nth(length + 1 - most).map_or(name.len(), |(at, _)| at);
    let is_whole = name[..cut].ends_with(BETWEEN_WORDS);
    let whole = name[cut..].split_once(BETWEEN_WORDS).map(|(_, words)| words).filter(|_| !is_whole);
    let words = whole.filter(|words| 2 * words.chars().count() >= most);
    format!("…{}", words.unwrap_or(&name[cut..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reconfig::scenario::{MapLink, MapNode};

    /// Figures beside the drawing count what is in use.
    #[test]
    fn the_size_of_a_drawing_says_what_of_it_is_not_in_use() {
        let node = |is_switch, fate| MapNode { node: NodeId(0), name: String::new(), is_switch, fate };
        let link = |ends, fate, cables| MapLink { ends, fate, cables };
        let nodes = vec![node(true, Fate::Stays), node(true, Fate::Stays), node(false, Fate::CutOff)];
        let links = vec![link((0, 1), Fate::Stays, 31), link((0, 1), Fate::Leaves, 1)];
        let map = FabricMap { nodes, links, in_switches: 0 };
        assert_eq!(size(&map, NOW_GONE), "2 switches, 1 host, 32 cables; not in use: 1 host, 1 cable");
        assert_eq!(size(&map, "leaves"), "2 switches, 1 host, 32 cables; not in use afterwards: 1 host, 1 cable");
    }

    #[test]
    fn names_lose_what_all_share_and_no_more_than_it_takes() {
        let nvidia = ["MF0;IBSPINE-09:MQM9701/U1", "MF0;IBSPINE-10:MQM9701/U1"];
        for (room, own) in [
            (25, nvidia),
            (14, ["MF0;IBSPINE-09", "MF0;IBSPINE-10"]),
            (10, ["IBSPINE-09", "IBSPINE-10"]),
            (4, ["09", "10"]),
        ] {
            assert_eq!(apart(&nvidia, room), own, "{room} letters");
        }
        let rows = ["MF0;A10-SPINE-1:MQM9701/U1", "MF0;B10-SPINE-1:MQM9701/U1"];
        assert_eq!(apart(&rows, 4), ["A10", "B10"], "the ends are shared, and beginnings differ");
        // A word is shared as a whole or not at all; nothing is left without a name.
        assert_eq!(apart(&["spine-17", "spine-18"], 4), ["17", "18"]);
        assert_eq!(apart(&["core-é-1", "core-é-2"], 4), ["é-1", "é-2"]);
        assert_eq!(apart(&["switch-1/U1"], 4), ["switch-1/U1"]);
        assert_eq!(apart(&[], 4), [""; 0]);
    }

    /// Names of digits and of capitals are wider than most.
    #[test]
    fn a_name_stays_within_its_box() {
        for (name, room, shown) in [
            ("leaf-1", 66.0, "leaf-1"),
            ("0x0002c90000000786", 66.0, "…0000786"),
            ("switch-0002c90000000786", 66.0, "…0000786"),
            ("MMMMMMMM", 66.0, "…MMMM"),
            ("core-13", 47.8, "core-13"),
        ] {
            assert_eq!(fitted(name, 10, room), shown);
            assert!(width_of(shown) <= room, "{shown}");
        }
    }

    #[test]
    fn a_name_is_cut_between_words_where_enough_is_left_of_it() {
        for (most, shown) in [
            (17, "A10-P1-IBSPINE-04"),
            (14, "…P1-IBSPINE-04"),
            (13, "…IBSPINE-04"),
            (11, "…IBSPINE-04"),
            (10, "…BSPINE-04"),
            (4, "…04"),
            (1, "…"),
        ] {
            assert_eq!(short("A10-P1-IBSPINE-04", most), shown, "{most} letters");
        }
    }
}
