//! `reconfig watch`: the local manager on one screen, kept up to date: what it is, the change under way with its
//! states, what happened last.

use super::manager::{Socket, ask, unexpected};
use super::outcome::{Answer, Failure};
use crate::report;
use anyhow::anyhow;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Wrap};
use reconfig::sm::control::{ControlEvent, ControlOrder, EventKind, Reply, Status};
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A manager answers between two of its steps; the longest is a sweep of a large subnet.
const PATIENCE: Duration = Duration::from_secs(120);
/// The most events that are kept.
const KEPT: usize = 500;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  reconfig watch
  reconfig watch --socket /run/reconfig/mlx5_0.sock --every 200

Keys: q or Esc ends. `reconfig events` prints the same events line by line, for programs and pipes.")]
pub(super) struct Arguments {
    #[command(flatten)]
    socket: Socket,
    /// Milliseconds from one look at the manager's state to the next.
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
    let mut client = arguments.socket.connect(Some(PATIENCE))?;
    let mut listener = arguments.socket.connect(None)?;
    let (heard, events) = channel();
    // It ends with the process: it waits for the next event.
    std::thread::spawn(move || listener.listen(|event| heard.send(event).is_ok()));
    let mut look = || match ask(&mut client, &ControlOrder::Status, |_| {})? {
        Reply::Status(status) => Ok(*status),
        other => Err(unexpected(&other)),
    };
    let mut seen = Watched { status: look()?, events: VecDeque::new(), state: None };
    let mut terminal = ratatui::try_init().map_err(Failure::undone)?;
    let ended = follow(&mut terminal, &mut seen, &events, &mut look, Duration::from_millis(arguments.every));
    ratatui::restore();
    ended.map(|()| Answer::Yes)
}

fn follow(
    terminal: &mut ratatui::DefaultTerminal,
    seen: &mut Watched,
    events: &Receiver<ControlEvent>,
    look: &mut impl FnMut() -> Result<Status, Failure>,
    every: Duration,
) -> Result<(), Failure> {
    let mut looked = Instant::now();
    loop {
        events.try_iter().for_each(|event| seen.hear(event));
        if looked.elapsed() >= every {
            seen.status = look()?;
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
        }
    }
}

/// What is on the screen.
struct Watched {
    status: Status,
    /// The last ones, the newest first.
    events: VecDeque<ControlEvent>,
    /// The state of the change under way, as heard: it may be over before the next look.
    state: Option<String>,
}

impl Watched {
    fn hear(&mut self, event: ControlEvent) {
        match &event.what {
            EventKind::State { state } => self.state = Some(state.clone()),
            EventKind::Change { .. } => self.state = None,
            _ => {}
        }
        self.events.push_front(event);
        self.events.truncate(KEPT);
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let width = usize::from(frame.area().width.saturating_sub(2));
        let (facts, first) = (folded(&report::manager_facts(&self.status), width), self.head(width));
        let [above, height] = [first.len(), facts.lines().count()].map(|lines| lines as u16 + 2);
        let rows = [Constraint::Length(above), Constraint::Max(height), Constraint::Fill(1), Constraint::Length(1)];
        let [head, state, happened, foot] = Layout::vertical(rows).areas(frame.area());
        frame.render_widget(Paragraph::new(first).block(Block::bordered().title(" reconfig ")), head);
        frame.render_widget(Paragraph::new(facts).block(Block::bordered().title(" manager ")), state);
        let events: Vec<Line<'_>> = self.events.iter().flat_map(lines).collect();
        let events = Paragraph::new(events)
            .wrap(Wrap { trim: false })
            .block(Block::bordered().title(" events, the newest first "));
        frame.render_widget(events, happened);
        frame.render_widget(Paragraph::new("q ends").dim(), foot);
    }

    /// The verdict, and the states of the change.
    fn head(&self, width: usize) -> Vec<Line<'_>> {
        let status = &self.status;
        let (word, colour) = match (status.subnet_up, status.degraded.is_empty()) {
            (true, true) => ("UP", Color::Green),
            (true, false) => ("UP, DEGRADED", Color::Yellow),
            (false, _) => ("NOT UP", Color::Red),
        };
        let word = format!(" {word} ");
        // What stands behind the word, and under it.
        let room = width.saturating_sub(word.chars().count() + 2);
        let told = folded(&report::manager_line(status), room);
        let mut told = told.lines().map(str::to_string);
        let style = Style::new().fg(Color::Black).bg(colour).add_modifier(Modifier::BOLD);
        let indent = " ".repeat(word.chars().count() + 2);
        let first =
            Line::from(vec![Span::styled(word, style), Span::raw(format!("  {}", told.next().unwrap_or_default()))]);
        let rest = told.map(|line| Line::from(format!("{indent}{line}")));
        [first].into_iter().chain(rest).chain([self.course()]).collect()
    }

    fn course(&self) -> Line<'_> {
        let state = self.state.as_deref().unwrap_or(&self.status.state);
        let Some((course, at)) = report::change_course(state, None) else {
            let held = self.status.held.as_ref().map_or_else(String::new, |barrier| format!(", held at {barrier}"));
            return Line::from(format!("no change under way ({state}{held})")).dim();
        };
        let spans = course.iter().enumerate().flat_map(|(rank, own)| {
            let style = match rank.cmp(&at) {
                std::cmp::Ordering::Less => Style::new().fg(Color::Green),
                std::cmp::Ordering::Equal => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
                std::cmp::Ordering::Greater => Style::new().add_modifier(Modifier::DIM),
            };
            let arrow = if rank == 0 { "" } else { " → " };
            [Span::raw(arrow), Span::styled((*own).to_string(), style)]
        });
        Line::from(spans.collect::<Vec<_>>())
    }
}

/// A text whose lines are no longer than `width`: what does not fit goes on below, under the column of values if the
/// line has one.
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

/// An event as lines: a change that ended has several.
fn lines(event: &ControlEvent) -> Vec<Line<'static>> {
    let style = match &event.what {
        EventKind::Warning { .. } | EventKind::Missed { .. } => Style::new().fg(Color::Yellow),
        EventKind::Change { .. } | EventKind::SubnetUp { .. } => Style::new().fg(Color::Green),
        _ => Style::new(),
    };
    report::manager_event(event).lines().map(|line| Line::styled(line.to_string(), style)).collect()
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

    fn screen(seen: &Watched) -> String {
        let mut terminal = Terminal::new(TestBackend::new(110, 30)).unwrap();
        terminal.draw(|frame| seen.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let rows = buffer.content.chunks(110).map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn nothing_is_cut_where_the_terminal_is_narrow() {
        let status: Status = serde_json::from_str(STATUS).unwrap();
        let seen = Watched { status, events: VecDeque::new(), state: None };
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
        let mut seen = Watched { status, events: VecDeque::new(), state: None };
        let quiet = screen(&seen);
        for part in [" UP ", "master for", "no change under way (completed)", "8 switches, 16 CAs, 31 links", "q ends"]
        {
            assert!(quiet.contains(part), "{part}:\n{quiet}");
        }
        seen.hear(ControlEvent::at(7_000_000_000, EventKind::State { state: "draining".to_string() }));
        let draining = screen(&seen);
        assert!(draining.contains("swapping → moving → draining → restoring"), "{draining}");
        assert!(draining.contains("7.000 s  state: draining"), "{draining}");
        seen.hear(ControlEvent::at(8_000_000_000, EventKind::State { state: "rewriting".to_string() }));
        assert!(screen(&seen).contains("│rewriting "));
        seen.status.subnet_up = false;
        seen.hear(ControlEvent::at(9_000_000_000, EventKind::Warning { text: "a port is silent".to_string() }));
        let last = screen(&seen);
        assert!(last.contains(" NOT UP ") && last.find("a port is silent") < last.find("state: rewriting"), "{last}");
    }
}
