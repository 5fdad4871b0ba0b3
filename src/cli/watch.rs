//! `reconfig watch`: the local manager on one screen, kept up to date: its state, the change in progress, and recent
//! events.

use super::manager::{Socket, ask, unexpected};
use super::outcome::{Answer, Failure};
use super::output::colours_output;
use crate::report;
use anyhow::anyhow;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::crossterm::style;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};
use reconfig::frontend::control::{
    ChangeStanding, ControlClient, ControlEvent, ControlOrder, EventKind, KEPT_EVENTS, Reply, Status,
};
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Number of events kept.
const KEPT: usize = 500;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  reconfig watch
  reconfig watch --socket /run/reconfig/mlx5_0.sock --every 200

Keys: q or Esc quits; arrows, Page Up, Page Down, Home and End scroll the events; m shows and hides the facts of the \
manager. If the manager ends, the screen says so and keeps its last state until a manager is running again. `reconfig events` \
prints the same events line by line, for programs and pipes.")]
pub(super) struct Arguments {
    #[command(flatten)]
    socket: Socket,
    /// Refresh interval of the manager's state, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    every: u64,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    if !std::io::stdout().is_terminal() {
        return Err(Failure::input(anyhow!(
            "standard output is no terminal: use `reconfig status` or `reconfig events`"
        )));
    }
    if !colours_output() {
        style::force_color_output(false);
    }
    let mut source = Source::open(&arguments.socket, KEPT_EVENTS as u32)?;
    let mut seen = Watched::of(source.status()?);
    let mut terminal = ratatui::try_init().map_err(Failure::undone)?;
    let ended = follow(&mut terminal, &mut seen, source, &arguments.socket, Duration::from_millis(arguments.every));
    ratatui::restore();
    ended.map(|()| Answer::Yes)
}

/// Two connections to one manager: one for requests, one for events.
struct Source {
    client: ControlClient,
    events: Receiver<ControlEvent>,
}

impl Source {
    /// `last` of the events before come first.
    fn open(socket: &Socket, last: u32) -> Result<Source, Failure> {
        let client = socket.connect()?;
        let mut listener = socket.connect()?;
        let (heard, events) = channel();
        // It ends with the manager or with the process: it waits for the next event.
        std::thread::spawn(move || listener.listen(last, |event| heard.send(event).is_ok()));
        Ok(Source { client, events })
    }

    fn status(&mut self) -> Result<Status, Failure> {
        match ask(&mut self.client, &ControlOrder::Status, |_| {})? {
            Reply::Status(status) => Ok(*status),
            other => Err(unexpected(&other)),
        }
    }
}

fn follow(
    terminal: &mut ratatui::DefaultTerminal,
    seen: &mut Watched,
    source: Source,
    socket: &Socket,
    every: Duration,
) -> Result<(), Failure> {
    let mut looked = Instant::now();
    let mut source = Some(source);
    loop {
        let heard: Vec<ControlEvent> = source.iter().flat_map(|source| source.events.try_iter()).collect();
        // The status tells which change a state belongs to, and what it waits for.
        let is_new = heard.iter().any(|event| matches!(event.what, EventKind::State { .. }));
        heard.into_iter().for_each(|event| seen.hear(event));
        if is_new || looked.elapsed() >= every {
            // The same manager may have been silent for a while, and what it keeps be on the screen.
            source = source.or_else(|| Source::open(socket, 0).ok());
            match source.as_mut().map(Source::status) {
                Some(Ok(status)) => seen.sees(status),
                _ => {
                    // Events received before the end count.
                    source.iter().flat_map(|source| source.events.try_iter()).for_each(|event| seen.hear(event));
                    source = None;
                    seen.is_gone();
                }
            }
            looked = Instant::now();
        }
        terminal.draw(|frame| seen.draw(frame)).map_err(Failure::undone)?;
        if event::poll(every.min(Duration::from_millis(100))).map_err(Failure::undone)?
            && let Event::Key(key) = event::read().map_err(Failure::undone)?
        {
            let interrupted = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            if interrupted || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                return Ok(());
            }
            seen.press(key.code);
        }
    }
}

/// The contents of the screen.
struct Watched {
    status: Status,
    /// The latest events, newest first.
    events: VecDeque<ControlEvent>,
    /// The state of the change in progress, from events: it may end before the next refresh.
    state: Option<String>,
    /// What started it, if that event was received.
    begun: Option<String>,
    /// Lines of events scrolled off above the screen.
    scrolled: u16,
    /// The maximum scroll position, and the number of lines shown, as last drawn.
    reach: (u16, u16),
    /// Whether the manager has ended, and no other manager answers.
    gone: bool,
    /// Whether the user wants to see the facts of the manager; `None` lets the available space decide.
    facts: Option<bool>,
}

/// Minimum lines of events, borders included; the facts of the manager give way to them.
const EVENTS: u16 = 8;

impl Watched {
    fn of(status: Status) -> Watched {
        let (events, reach) = (VecDeque::new(), (0, 0));
        Watched { status, events, state: None, begun: None, scrolled: 0, reach, gone: false, facts: None }
    }

    fn sees(&mut self, status: Status) {
        (self.status, self.gone) = (status, false);
    }

    /// No manager answers: the last known state stays on the screen.
    fn is_gone(&mut self) {
        if !std::mem::replace(&mut self.gone, true) {
            let text = "the manager is gone; times above are those of the one that follows".to_string();
            self.hear(ControlEvent::at(self.status.uptime_ns, EventKind::Warning { text }));
            (self.state, self.begun) = (None, None);
        }
    }

    fn hear(&mut self, event: ControlEvent) {
        match &event.what {
            EventKind::State { state } => self.state = Some(state.clone()),
            EventKind::Begun { cause } => self.begun = Some(cause.clone()),
            EventKind::Change { .. } => (self.state, self.begun) = (None, None),
            // What another master has ended, or this one leaves to it, is told by the status.
            EventKind::Role { .. } | EventKind::SubnetUp { .. } => self.state = None,
            _ => {}
        }
        // A user who has scrolled back keeps the same view.
        if self.scrolled > 0 {
            self.scrolled = self.scrolled.saturating_add(lines(&event).len() as u16);
        }
        self.events.push_front(event);
        self.events.truncate(KEPT);
    }

    fn press(&mut self, key: KeyCode) {
        let (most, shown) = self.reach;
        self.scrolled = match key {
            KeyCode::Up => self.scrolled.saturating_sub(1),
            KeyCode::Down => self.scrolled.saturating_add(1),
            KeyCode::PageUp => self.scrolled.saturating_sub(shown),
            KeyCode::PageDown => self.scrolled.saturating_add(shown),
            KeyCode::Home => 0,
            KeyCode::End => most,
            _ => self.scrolled,
        }
        .min(most);
        if key == KeyCode::Char('m') {
            self.facts = Some(!self.facts.unwrap_or(true));
        }
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let width = usize::from(area.width.saturating_sub(2));
        let (facts, mut first) = (folded(&report::manager_facts(&self.status), width), self.head(width));
        let [mut above, height] = [first.len(), facts.lines().count()].map(|lines| lines as u16 + 2);
        // Events take precedence: in a low terminal a key shows the facts.
        let has_room = area.height > above + height + EVENTS;
        let shows_facts = *self.facts.get_or_insert(has_room);
        let height = if shows_facts { height } else { 0 };
        // The facts name what is not in use: without them at least what was ordered is named, and the rest counted.
        let aside = Some(self.status.aside.join(", ")).filter(|aside| !aside.is_empty());
        let aside = aside.map(|aside| format!("set aside: {aside}"));
        let missing = report::manager_missing(&self.status);
        let missing = missing.map(|missing| format!("missing: {missing} (m names them)"));
        for told in [aside, missing].into_iter().flatten().filter(|_| !shows_facts) {
            let told = folded(&told, width);
            above += told.lines().count() as u16;
            let style = Style::new().fg(Color::Yellow);
            first.extend(told.lines().map(|line| Line::styled(line.to_string(), style)));
        }
        let rows = [Constraint::Length(above), Constraint::Max(height), Constraint::Fill(1), Constraint::Length(1)];
        let [head, state, happened, foot] = Layout::vertical(rows).areas(area);
        frame.render_widget(Paragraph::new(first).block(Block::bordered().title(" reconfig ")), head);
        if shows_facts {
            frame.render_widget(Paragraph::new(facts).block(Block::bordered().title(" manager ")), state);
        }
        let events = folded_lines(self.events(), width);
        let shown = happened.height.saturating_sub(2);
        self.reach = ((events.len() as u16).saturating_sub(shown), shown);
        self.scrolled = self.scrolled.min(self.reach.0);
        let below = self.reach.0 - self.scrolled;
        let more = if below > 0 { format!(" {below} more below ") } else { String::new() };
        let block = Block::bordered()
            .title(" events, the newest first, by seconds since the manager began ")
            .title_bottom(Line::from(more).right_aligned());
        frame.render_widget(Paragraph::new(events).scroll((self.scrolled, 0)).block(block), happened);
        let keys =
            format!("q ends · ↑ ↓ PgUp PgDn scroll · m {} the manager", if shows_facts { "hides" } else { "shows" });
        frame.render_widget(Paragraph::new(keys).dim(), foot);
    }

    /// The events received.
    fn events(&self) -> Vec<Line<'static>> {
        if self.events.is_empty() {
            return vec![Line::from("nothing has happened since the manager began").dim()];
        }
        self.events.iter().flat_map(lines).collect()
    }

    /// The verdict, the identity of the manager, and the states of the change.
    fn head(&self, width: usize) -> Vec<Line<'static>> {
        let status = &self.status;
        let state = self.state.as_deref().unwrap_or(&status.state);
        let changes = report::is_under_way(state);
        let (word, colour) = match (status.subnet_up, status.degraded.is_empty()) {
            _ if self.gone => ("GONE", Color::Red),
            _ if state == "failed" => ("STANDS STILL", Color::Red),
            (true, _) if changes => ("CHANGING", Color::Yellow),
            (false, _) if changes && status.half.is_some() => ("TAKING OVER", Color::Yellow),
            (true, true) => ("UP", Color::Green),
            (true, false) => ("UP, DEGRADED", Color::Yellow),
            (false, _) => ("NOT UP", Color::Red),
        };
        let word = format!(" {word} ");
        // The text after the word, and below it.
        let room = width.saturating_sub(word.chars().count() + 2);
        let told = format!("{}\n{}", self.verdict(state, changes), report::manager_line(status));
        let told = folded(&told, room);
        let mut told = told.lines().map(str::to_string);
        let style = Style::new().fg(Color::Black).bg(colour).add_modifier(Modifier::BOLD);
        let indent = " ".repeat(word.chars().count() + 2);
        let first =
            Line::from(vec![Span::styled(word, style), Span::raw(format!("  {}", told.next().unwrap_or_default()))]);
        let rest = told.map(|line| Line::from(format!("{indent}{line}")));
        [first].into_iter().chain(rest).chain(self.course()).collect()
    }

    /// The first sentence.
    fn verdict(&self, state: &str, changes: bool) -> String {
        if self.gone {
            return "The manager has ended, or is stopped. This is the last that was seen of it; the next one is waited for."
                .to_string();
        }
        let beside = report::change_beside(&self.status, self.begun.as_deref());
        let sentence = match (self.status.subnet_up, changes) {
            _ if state == "failed" => "A change stands still, and will be tried again.".to_string(),
            (true, true) => format!("A change is under way: {state}."),
            (true, false) if self.status.held.is_some() => format!("A change stands still: {state}."),
            _ => return report::change_sentence(&self.status, None),
        };
        format!("{sentence} {beside}").trim_end().to_string()
    }

    /// The states of the change under way, and the barriers of its wave.
    fn course(&self) -> Vec<Line<'static>> {
        let state = self.state.as_deref().unwrap_or(&self.status.state);
        let Some(standing) = self.status.change.as_ref().filter(|_| !self.gone) else { return Vec::new() };
        let mut lines = Vec::new();
        if let Some(at) = standing.states.iter().position(|own| own == state) {
            lines.push(steps(&standing.states, at, " → "));
        }
        // Events received since may belong to another wave.
        if state == self.status.state {
            let ChangeStanding { wave, waves, name, barriers, passed, .. } = standing;
            let mut line = Line::from(format!("wave {wave} of {waves}, {name}: "));
            line.extend(steps(barriers, *passed, " → "));
            lines.push(line);
        }
        lines
    }
}

/// A line of steps, of which those before `at` are over.
fn steps(names: &[String], at: usize, arrow: &'static str) -> Line<'static> {
    let spans = names.iter().enumerate().flat_map(|(rank, own)| {
        let style = match rank.cmp(&at) {
            std::cmp::Ordering::Less => Style::new().fg(Color::Green),
            std::cmp::Ordering::Equal => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
            std::cmp::Ordering::Greater => Style::new().add_modifier(Modifier::DIM),
        };
        [Span::raw(if rank == 0 { "" } else { arrow }), Span::styled(own.clone(), style)]
    });
    Line::from(spans.collect::<Vec<_>>())
}

/// Wraps a text to `width`: the rest of a line continues below, under the column of values if the line has one.
fn folded(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let letters: Vec<char> = line.chars().collect();
        let value = letters.windows(3).position(|own| own[0] == ' ' && own[1] == ' ' && own[2] != ' ');
        let indent = value.map_or(2, |at| at + 2);
        // A column of values beyond the middle leaves too little room.
        let indent = if indent > width / 2 { 2 } else { indent };
        let mut rest = &letters[..];
        let mut before = 0;
        while before + rest.len() > width && width > indent {
            let room = width - before;
            let own = if before == 0 { indent } else { 0 };
            let at = rest[..=room].iter().rposition(|&letter| letter == ' ').filter(|&at| at > own).unwrap_or(room);
            lines.push(" ".repeat(before) + &rest[..at].iter().collect::<String>());
            rest = &rest[at..];
            let spaces = rest.iter().take_while(|&&letter| letter == ' ').count();
            rest = &rest[spaces..];
            before = indent;
        }
        lines.push(" ".repeat(before) + &rest.iter().collect::<String>());
    }
    lines.join("\n")
}

/// Wraps lines to `width` and keeps their styles.
fn folded_lines(lines: Vec<Line<'static>>, width: usize) -> Vec<Line<'static>> {
    let parts = |line: Line<'static>| {
        let style = line.spans.first().map_or(line.style, |span| line.style.patch(span.style));
        let text: String = line.spans.iter().map(|span| &*span.content).collect();
        folded(&text, width).lines().map(|own| Line::styled(own.to_string(), style)).collect::<Vec<_>>()
    };
    lines.into_iter().flat_map(parts).collect()
}

/// An event as lines; the end of a change takes several.
fn lines(event: &ControlEvent) -> Vec<Line<'static>> {
    let style = match &event.what {
        EventKind::Warning { .. } | EventKind::Missed { .. } => Style::new().fg(Color::Yellow),
        EventKind::Change { .. } | EventKind::SubnetUp { .. } => Style::new().fg(Color::Green),
        _ => Style::new(),
    };
    report::manager_event(event)
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| Line::styled(line.to_string(), style))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// What `status --json` gave once, on ibsim, as far as it is needed.
    const STATUS: &str = r#"
        {"schema": "reconfig.status/1", "version": "0.1.0", "uptime_ns": 24564357221, "role": "master",
        "port": {"adapter": "ibsim0", "port": 1, "guid": "0x0200000101000001", "priority": 0},
        "state": "completed", "held": null, "subnet_up": true, "arrival": "cold", "fabric": {"switches": 8,
        "cas": 16, "links": 31}, "half": "lower", "lids": {"lmc": 1, "given": 40, "highest": 41},
        "engine": "fat-tree,up-down-robust", "routed_by": "fat-tree", "root": null, "data_vls": 4,
        "without_double": null, "channels": {"channels": 30, "used": 30, "busiest": "spine-2[1]", "pairs": 24},
        "aside": [], "foreseen": null, "degraded": [], "policy": {"scheme": "auto", "observer": "lifetime",
        "arming": "off", "sources": "fence", "partition": "temporary"}, "smps": {"total": 1545, "retries": 0,
        "late": 0, "sent": {"LinearForwardingTable": {"Get": 56, "Set": 16}, "NodeDescription": {"Get": 72},
        "NodeInfo": {"Get": 98}, "Notice": {"TrapRepress": 1}, "PKeyTable": {"Get": 16}, "PortInfo": {"Get": 460,
        "Set": 136}, "SlToVlMappingTable": {"Set": 384}, "SwitchInfo": {"Get": 160, "Set": 18},
        "VlArbitrationTable": {"Get": 64, "Set": 64}}}, "sweeps": {"heavy": 2, "last_heavy_ns": 4359943,
        "period_ns": 1000000000, "traps": {"128": 1}}, "sa_requests": {}, "changes": {"completed": 1},
        "last_change": null, "trouble": null}
    "#;

    fn screen(seen: &mut Watched) -> String {
        let mut terminal = Terminal::new(TestBackend::new(110, 30)).unwrap();
        terminal.draw(|frame| seen.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let rows = buffer.content.chunks(110).map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn nothing_is_cut_where_the_terminal_is_narrow() {
        let status: Status = serde_json::from_str(STATUS).unwrap();
        let mut seen = Watched::of(status);
        for width in [60, 80, 100, 140] {
            let mut terminal = Terminal::new(TestBackend::new(width, 50)).unwrap();
            terminal.draw(|frame| seen.draw(frame)).unwrap();
            let buffer = terminal.backend().buffer().clone();
            let rows = buffer.content.chunks(usize::from(width));
            let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().replace('│', " "));
            let shown: String = rows.collect::<Vec<_>>().join(" ");
            let words = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
            let shown = words(&shown).join(" ");
            for whole in [report::manager_line(&seen.status), report::manager_facts(&seen.status)] {
                for line in whole.lines().map(|line| words(line).join(" ")) {
                    assert!(shown.contains(&line), "{width}: {line}\n{shown}");
                }
            }
        }
    }

    #[test]
    fn a_change_under_way_is_shown_by_its_states_and_forgotten_when_it_is_over() {
        let status: Status = serde_json::from_str(STATUS).unwrap();
        let mut seen = Watched::of(status);
        let quiet = screen(&mut seen);
        for part in [
            " UP   The subnet is up; no change is under way.",
            "master, running for",
            " state       completed",
            "8 switches, 16 CAs, 31 links",
            "q ends",
        ] {
            assert!(quiet.contains(part), "{part}:\n{quiet}");
        }
        seen.hear(ControlEvent::at(7_000_000_000, EventKind::State { state: "draining".to_string() }));
        assert!(!screen(&mut seen).contains("→"), "of which change it is, nobody has told yet");
        seen.status.held = Some("drained".to_string());
        let states = ["splitting", "flushing", "installing", "swapping", "moving", "draining", "restoring"];
        seen.status.change = Some(standing(&states, "drain", &["drained on VLs 0, 1"]));
        let draining = screen(&mut seen);
        assert!(draining.contains("swapping → moving → draining → restoring"), "{draining}");
        assert!(draining.contains("7.000 s  state: draining"), "{draining}");
        assert!(draining.contains(" CHANGING   A change is under way: draining. It is held at barrier “drained”"));
        assert!(!draining.contains("drained on VLs"), "the status is of the state before");
        seen.status.state = "draining".to_string();
        assert!(screen(&mut seen).contains("│wave 2 of 3, drain: drained on VLs 0, 1 "));
        seen.status.held = None;
        seen.hear(ControlEvent::at(8_000_000_000, EventKind::State { state: "rewriting".to_string() }));
        assert!(!screen(&mut seen).contains("→"), "it is no state of this change");
        (seen.status.subnet_up, seen.status.half) = (false, None);
        seen.hear(ControlEvent::at(9_000_000_000, EventKind::Warning { text: "a port is silent".to_string() }));
        let last = screen(&mut seen);
        assert!(last.contains(" NOT UP ") && last.find("a port is silent") < last.find("state: rewriting"), "{last}");
    }

    /// A planned removal spends most of its time vacating.
    #[test]
    fn what_is_vacated_is_shown_by_its_states_and_barriers_too() {
        let mut seen = Watched::of(serde_json::from_str(STATUS).unwrap());
        seen.status.state = "vacating".to_string();
        seen.status.change = Some(standing(&["rewriting", "vacating"], "rewrite", &["acknowledged", "vacated"]));
        let shown = screen(&mut seen);
        for line in ["│rewriting → vacating ", "│wave 2 of 3, rewrite: acknowledged → vacated "] {
            assert!(shown.contains(line), "{line}:\n{shown}");
        }
        seen.is_gone();
        assert!(!screen(&mut seen).contains("→"));
    }

    /// A change in the second of three waves, of which one barrier is passed.
    fn standing(states: &[&str], name: &str, barriers: &[&str]) -> ChangeStanding {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        ChangeStanding {
            scheme: "ordered".to_string(),
            states: owned(states),
            wave: 2,
            waves: 3,
            name: name.to_string(),
            barriers: owned(barriers),
            passed: 1,
        }
    }

    #[test]
    fn every_state_of_a_change_is_a_change_under_way() {
        for (state, word, said) in [
            ("vacating", " CHANGING ", "A change is under way: vacating."),
            ("calling-off", " CHANGING ", "A change is under way: calling-off."),
            ("failed", " STANDS STILL ", "A change stands still, and will be tried again."),
            ("called-off", " UP ", "The subnet is up; no change is under way."),
        ] {
            let mut seen = Watched::of(serde_json::from_str(STATUS).unwrap());
            seen.status.state = state.to_string();
            let shown = screen(&mut seen);
            assert!(shown.contains(word) && shown.contains(said), "{state}:\n{shown}");
            seen.status.subnet_up = false;
            assert_eq!(screen(&mut seen).contains(" TAKING OVER "), word == " CHANGING ", "{state}");
        }
    }

    /// Among the events before the screen was opened may be a change that another master brought to its end.
    #[test]
    fn a_state_of_an_earlier_term_does_not_stay() {
        let later = [
            EventKind::Role { role: "standby".to_string() },
            EventKind::SubnetUp { fabric: Default::default(), arrival: "adopted".to_string(), why: None },
        ];
        for what in later {
            let mut seen = Watched::of(serde_json::from_str(STATUS).unwrap());
            seen.hear(ControlEvent::at(7_000_000_000, EventKind::State { state: "draining".to_string() }));
            assert!(screen(&mut seen).contains(" CHANGING "));
            seen.hear(ControlEvent::at(8_000_000_000, what));
            assert!(screen(&mut seen).contains(" UP "), "the status tells of no change");
        }
    }

    #[test]
    fn a_manager_that_is_gone_is_waited_for() {
        let status: Status = serde_json::from_str(STATUS).unwrap();
        let mut seen = Watched::of(status.clone());
        seen.hear(ControlEvent::at(7_000_000_000, EventKind::State { state: "draining".to_string() }));
        seen.is_gone();
        seen.is_gone();
        let gone = screen(&mut seen);
        assert!(
            gone.contains(" GONE   The manager has ended, or is stopped.") && !gone.contains("draining →"),
            "{gone}"
        );
        assert_eq!(gone.matches("the manager is gone").count(), 1, "{gone}");
        seen.sees(status);
        let back = screen(&mut seen);
        assert!(back.contains(" UP   The subnet is up") && back.contains("the manager is gone"), "{back}");
    }

    #[test]
    fn events_scroll_and_a_low_terminal_has_room_for_them() {
        let status: Status = serde_json::from_str(STATUS).unwrap();
        let mut seen = Watched::of(status);
        let mut low = Terminal::new(TestBackend::new(80, 24)).unwrap();
        let mut show = |seen: &mut Watched| {
            low.draw(|frame| seen.draw(frame)).unwrap();
            low.backend().buffer().content.iter().map(|cell| cell.symbol()).collect::<String>()
        };
        assert!(show(&mut seen).contains("nothing has happened since the manager began"));
        for number in 0..100 {
            seen.hear(ControlEvent::at(0, EventKind::Warning { text: format!("[{number}]") }));
        }
        seen.status.missing.hosts.count = 2;
        assert!(show(&mut seen).contains("│missing: 2 hosts (m names them) "));
        seen.status.aside = vec!["spine-4".to_string()];
        assert!(show(&mut seen).contains("│set aside: spine-4 "));
        seen.status.aside.clear();
        seen.status.missing.hosts.count = 0;
        let newest = show(&mut seen);
        assert!(newest.contains("[99]") && newest.contains("m shows the manager"), "{newest}");
        let rows = newest.matches("WARNING").count();
        assert!(rows >= 14, "{rows} of 24 lines are events");
        assert!(newest.contains(&format!(" {} more below ", 100 - rows)), "{newest}");
        seen.press(KeyCode::PageDown);
        let page = show(&mut seen);
        assert!(page.contains(&format!("[{}]", 99 - rows)) && !page.contains("[99]"), "{page}");
        seen.hear(ControlEvent::at(0, EventKind::Warning { text: "[100]".to_string() }));
        assert!(show(&mut seen).contains(&format!("[{}]", 99 - rows)), "what is read stays where it is");
        seen.press(KeyCode::End);
        assert!(show(&mut seen).contains("[0]"));
        seen.press(KeyCode::Home);
        seen.press(KeyCode::Char('m'));
        let facts = show(&mut seen);
        assert!(
            facts.contains("[100]") && facts.contains(" routing ") && facts.contains("m hides the manager"),
            "{facts}"
        );
    }
}
