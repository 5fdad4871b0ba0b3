//! The control socket from outside: what is asked, what is answered, who may ask, and who may not have the socket; the
//! commands that ask through it; metrics as a scraper reads them, the page as a browser does.

use crate::support::schema::assert_keeps;
use reconfig::driver::PhaseRecord;
use reconfig::frontend::control::{
    Answers, ChangeDone, ChangeOrder, ChangeOutcome, ClientError, ClientLimits, Control, ControlClient, ControlError,
    ControlEvent, ControlOrder, ControlRequest, EventFeed, EventKind, Fault, KEPT_EVENTS, MOST_CONNECTIONS, Reply,
    Status, SweepStatus,
};
use reconfig::frontend::metrics::{Metrics, MetricsError, MetricsServer};
use reconfig::frontend::web::{PageFiles, PageParts, WebServer};
use reconfig::ids::{Guid, Half, Lid};
use reconfig::sm::{Degraded, SubnetElement};
use reconfig::subnet::SmpCounts;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Longer than any answer here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A manager that only answers, on a thread of its own.
struct Manager {
    _folder: tempfile::TempDir,
    path: PathBuf,
    events: EventFeed,
    /// Dropped, it ends the manager.
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Manager {
    fn start(answer: impl FnMut(ControlRequest) + Send + 'static) -> Manager {
        Manager::start_within(ClientLimits::default(), answer)
    }

    fn start_within(limits: ClientLimits, answer: impl FnMut(ControlRequest) + Send + 'static) -> Manager {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run/sm.sock");
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (ready, waiting) = mpsc::channel();
        let at = path.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(serve(&at, limits, answer, stopped, &ready));
        });
        let events = waiting.recv().expect("the manager started");
        Manager { _folder: folder, path, events, stop: Some(stop), thread: Some(thread) }
    }

    fn client(&self) -> ControlClient {
        ControlClient::connect(&self.path, Some(PATIENCE)).expect("the manager runs")
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

async fn serve(
    path: &Path,
    limits: ClientLimits,
    mut answer: impl FnMut(ControlRequest),
    stopped: tokio::sync::oneshot::Receiver<()>,
    ready: &mpsc::Sender<EventFeed>,
) {
    let (control, mut requests) = Control::bind(path).expect("the socket is free");
    ready.send(control.events()).expect("the test waits");
    tokio::spawn(control.with_limits(limits).serve());
    let answering = async {
        while let Some(request) = requests.recv().await {
            answer(request);
        }
    };
    tokio::select! {
        () = answering => {}
        _ = stopped => {}
    }
}

/// Waits until somebody listens.
fn await_listener(events: &EventFeed) {
    let began = Instant::now();
    while events.listeners() == 0 {
        assert!(began.elapsed() < PATIENCE, "nobody listens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn done(answers: Answers, text: &str) {
    answers.finish(Reply::Done { text: text.to_string() });
}

fn text_of(reply: Reply) -> String {
    match reply {
        Reply::Done { text } => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn orders_of_one_connection_are_answered_in_turn_with_what_happens_on_the_way() {
    let manager = Manager::start(|ControlRequest { order, answers }| {
        if let ControlOrder::Change(wanted) = &order {
            assert_eq!(wanted.remove, SubnetElement::Switch("spine-1".to_string()));
            answers.event(ControlEvent::at(7, EventKind::State { state: "splitting".to_string() }));
            answers.event(ControlEvent::at(9, EventKind::State { state: "installing".to_string() }));
        }
        done(answers, &format!("{order:?}"));
    });
    let mut client = manager.client();
    assert_eq!(text_of(client.ask(&ControlOrder::Sweep, |_| {}).unwrap()), "Sweep");
    let remove = SubnetElement::Switch("spine-1".to_string());
    let wanted = ChangeOrder { remove, planned: true, dry_run: false, allow_cut_off: false };
    let mut seen = Vec::new();
    let answer = client.ask(&ControlOrder::Change(wanted), |event| seen.push(event.at_ns)).unwrap();
    assert!(text_of(answer).starts_with("Change"), "the answer belongs to the order");
    assert_eq!(seen, [7, 9]);
}

#[test]
fn what_is_no_order_is_refused_and_the_connection_goes_on() {
    use std::io::{BufRead, BufReader, Write};
    let manager = Manager::start(|request| done(request.answers, "seen"));
    let stream = std::os::unix::net::UnixStream::connect(&manager.path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut tell = |order: &str| -> String {
        (&stream).write_all(format!("{order}\n").as_bytes()).unwrap();
        lines.next().expect("an answer").unwrap()
    };
    for wrong in ["nonsense", r#"{"request":"fly"}"#, r#"{"request":"change","remove":{"switch":"a"}}"#] {
        let reply: Reply = serde_json::from_str(&tell(wrong)).unwrap();
        assert!(matches!(reply, Reply::Refused { fault: Fault::Request, .. }), "{wrong}: {reply:?}");
    }
    assert_eq!(tell(r#"{"request":"sweep"}"#), r#"{"reply":"done","text":"seen"}"#);
    let order = r#"{"request":"change","remove":{"link":"leaf-1:3"},"planned":true}"#;
    assert_eq!(tell(order), r#"{"reply":"done","text":"seen"}"#);
    // Nobody makes the manager keep a line without end.
    (&stream).write_all(&vec![b'x'; 64 * 1024]).unwrap();
    assert!(lines.next().unwrap().unwrap().contains("refused"));
    assert!(lines.next().is_none(), "the connection ends");
}

#[test]
fn who_hoards_connections_is_refused_more_and_others_are_served() {
    use std::io::{BufRead, BufReader};
    let manager = Manager::start(|request| match request.order {
        ControlOrder::Status => request.answers.finish(Reply::Status(Box::new(status()))),
        _ => done(request.answers, "seen"),
    });
    let connect = || std::os::unix::net::UnixStream::connect(&manager.path).unwrap();
    let mut hoard: Vec<_> = (0..MOST_CONNECTIONS / 2).map(|_| connect()).collect();
    let mut line = String::new();
    BufReader::new(connect()).read_line(&mut line).unwrap();
    assert!(line.contains("has its share of"), "{line}");
    let (code, _, said) = reconfig(&["status"], &manager.path);
    assert_eq!(code, 0, "another process: {said}");
    hoard.pop();
    let began = Instant::now();
    // The manager learns in its time that one is gone.
    while !matches!(manager.client().ask(&ControlOrder::Sweep, |_| {}), Ok(Reply::Done { .. })) {
        assert!(began.elapsed() < PATIENCE, "one has room now");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Longer than any test waits.
const NEVER: ClientLimits = ClientLimits {
    order: Duration::from_secs(3_600),
    idle: Duration::from_secs(3_600),
    stalled: Duration::from_secs(3_600),
};

const SOON: Duration = Duration::from_millis(100);

/// Says something to a manager that answers every order; what it answers until it closes the connection.
fn answered_until_closed(limits: ClientLimits, said: &[u8]) -> String {
    use std::io::{Read, Write};
    let manager = Manager::start_within(limits, |request| done(request.answers, "seen"));
    let mut stream = std::os::unix::net::UnixStream::connect(&manager.path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(said).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("the connection ends");
    answers
}

#[test]
fn who_does_not_end_an_order_is_hung_up_on() {
    let limits = ClientLimits { order: SOON, ..NEVER };
    let answers = answered_until_closed(limits, b"{\"request\":\"sweep\"}\n{\"request\":");
    assert_eq!(answers, "{\"reply\":\"done\",\"text\":\"seen\"}\n");
}

#[test]
fn who_gives_no_order_is_hung_up_on() {
    let limits = ClientLimits { idle: SOON, ..NEVER };
    assert_eq!(answered_until_closed(limits, b""), "");
    assert_eq!(answered_until_closed(limits, b"{\"request\":\"sweep\"}\n"), "{\"reply\":\"done\",\"text\":\"seen\"}\n");
}

/// A listener that takes nothing: the socket's buffer fills, and then it is given up.
#[test]
fn who_takes_nothing_of_what_is_sent_is_hung_up_on() {
    let manager =
        Manager::start_within(ClientLimits { stalled: SOON, ..NEVER }, |request| done(request.answers, "seen"));
    let mut stream = std::os::unix::net::UnixStream::connect(&manager.path).unwrap();
    std::io::Write::write_all(&mut stream, b"{\"request\":\"events\",\"last\":0}\n").unwrap();
    await_listener(&manager.events);
    let began = Instant::now();
    while manager.events.listeners() > 0 {
        assert!(began.elapsed() < PATIENCE, "it still listens");
        manager.events.send(ControlEvent::at(0, EventKind::State { state: "x".repeat(10_000) }));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What docs/SECURITY.md promises.
#[test]
fn clients_have_ten_seconds_for_an_order_ten_minutes_between_two_and_one_to_take_an_answer() {
    let ClientLimits { order, idle, stalled } = ClientLimits::default();
    assert_eq!([order, idle, stalled].map(|limit| limit.as_secs()), [10, 600, 60]);
}

#[test]
fn an_order_that_nobody_took_says_so() {
    let manager = Manager::start(drop);
    let reply = manager.client().ask(&ControlOrder::Abort, |_| {}).unwrap();
    assert!(matches!(reply, Reply::Refused { fault: Fault::State, .. }), "{reply:?}");
}

#[test]
fn listeners_hear_what_happens_and_how_much_they_missed() {
    // An order holds up the manager's one thread until all has happened, so that the listener falls behind.
    let (taken, held_up) = mpsc::channel();
    let (go_on, resumed) = mpsc::channel::<()>();
    let manager = Manager::start(move |request| {
        taken.send(()).expect("the test waits");
        resumed.recv_timeout(PATIENCE).expect("the test lets go");
        done(request.answers, "seen");
    });
    let events = manager.events.clone();
    let path = manager.path.clone();
    let last = 1_999;
    let listener = std::thread::spawn(move || {
        let mut seen = Vec::new();
        let mut client = ControlClient::connect(&path, Some(PATIENCE)).unwrap();
        let ended = client.listen(0, |event| {
            let ends = matches!(event.what, EventKind::Trap { lid: Lid(lid), .. } if lid == last);
            seen.push(event.what);
            !ends
        });
        ended.map(|()| seen)
    });
    await_listener(&events);
    let mut other = manager.client();
    let order = std::thread::spawn(move || other.ask(&ControlOrder::Sweep, |_| {}));
    held_up.recv().unwrap();
    for lid in 0..=last {
        let what = EventKind::Trap { number: 128, lid: Lid(lid), node: None };
        events.send(ControlEvent::at(u64::from(lid), what));
    }
    go_on.send(()).unwrap();
    order.join().unwrap().unwrap();

    // Each event was heard in its turn, or counted as missed.
    let mut next = 0;
    let mut missed = 0;
    for what in listener.join().unwrap().unwrap() {
        match what {
            EventKind::Trap { lid, .. } => {
                assert_eq!(u64::from(lid.0), next);
                next += 1;
            }
            EventKind::Missed { events } => {
                missed += events;
                next += events;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(next, u64::from(last) + 1);
    assert!(missed > 0, "more happened than are kept");
}

#[test]
fn the_socket_is_its_owners_alone_and_one_managers_at_a_time() {
    let manager = Manager::start(|_| {});
    let mode = std::fs::metadata(&manager.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let second = runtime.block_on(async { Control::bind(&manager.path) });
    assert!(matches!(second, Err(ControlError::Taken { .. })), "{second:?}");
    assert!(ControlClient::connect(&manager.path, Some(PATIENCE)).is_ok(), "the first one's socket is still there");
}

#[test]
fn a_socket_that_was_left_behind_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sm.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "a socket of a process that died");
    assert!(matches!(ControlClient::connect(&path, Some(PATIENCE)), Err(ClientError::Nobody { .. })));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (control, _requests) = Control::bind(&path).expect("nobody holds it");
        assert!(ControlClient::connect(&path, Some(PATIENCE)).is_ok());
        drop(control);
    });
    assert!(!path.exists(), "it goes with its manager");
}

/// What the binary says to these arguments: exit code, standard output, standard error.
fn reconfig(arguments: &[&str], socket: &Path) -> (i32, String, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_reconfig"));
    let output = command.args(arguments).arg("--socket").arg(socket).output().expect("the binary");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("no signal"), text(&output.stdout), text(&output.stderr))
}

/// A status with something in every row.
fn status() -> Status {
    let text = r#"{
        "schema": "reconfig.status/1", "version": "0.1.0", "uptime_ns": 61000000000, "role": "master",
        "port": {"adapter": "mlx5_0", "port": 1, "guid": "0x0002c90300001234", "priority": 3},
        "state": "completed", "held": null, "subnet_up": true, "arrival": "cold",
        "fabric": {"switches": 20, "cas": 16, "links": 48}, "half": "upper",
        "lids": {"lmc": 1, "given": 52, "highest": 53}, "engine": "updn",
        "root": {"guid": "0x0002c90300005678", "description": "spine-2"}, "data_vls": 4,
        "without_double": "host-7[1] has one LID", "aside": ["spine-1"],
        "missing": {"switches": {"count": 1, "names": ["leaf-9"]}, "cables": {"count": 0, "names": []},
            "hosts": {"count": 6, "names": ["host-1[1]", "host-2[1]", "host-3[1]", "host-4[1]", "host-5[1]"]}},
        "policy": {"devices": "agents", "given": ["drain", "sources"], "scheme": "auto", "observer": "lifetime", "arming": "off",
            "sources": "fenced"},
        "smps": {"total": 12345, "retries": 6, "late": 1, "sent": {"PortInfo": {"Get": 12000, "Set": 345}}},
        "sweeps": {"heavy": 3, "last_heavy_ns": 12000000, "period_ns": 10000000000, "traps": {"128": 2}},
        "sa_requests": {"PathRecord": 9},
        "changes": {"completed": 1}, "trouble": null,
        "last_change": {
            "schema": "reconfig.change/1", "cause": "removal of spine-1", "outcome": "completed", "reason": null,
            "scheme": "double", "half": "upper", "root": null, "restarts": 0, "waves": 5, "writes": 900, "proved": true,
            "pairs_without_a_way": 0, "hosts_that_move": 0, "notes": [],
            "phases": [{"name": "split", "start_ns": 0, "end_ns": 5000000, "smps": 600}],
            "smps": {"total": 600, "retries": 0, "late": 0, "sent": {}}, "stranded": []
        }
    }"#;
    serde_json::from_str(text).expect("the schema as it is")
}

#[test]
fn the_commands_show_what_the_manager_says() {
    let manager = Manager::start(|ControlRequest { order, answers }| match order {
        ControlOrder::Status => answers.finish(Reply::Status(Box::new(status()))),
        _ => done(answers, "as you say"),
    });
    let (code, shown, said) = reconfig(&["status"], &manager.path);
    assert_eq!(code, 0, "{said}");
    for word in [
        "master, running for 61.0 s",
        "priority 3, devices agents except for --drain, --sources",
        "20 switches",
        "upper (LMC 1)",
        "spine-2",
        "12 345",
        "2 × 128",
        "9 × PathRecord",
        "removal of spine-1",
        "never by double: host-7[1] has one LID",
        "1 switch (leaf-9); 6 hosts (host-1[1], host-2[1], host-3[1], host-4[1] and 2 more)",
    ] {
        assert!(shown.contains(word), "`{word}` in:\n{shown}");
    }
    let (code, printed, _) = reconfig(&["status", "--json"], &manager.path);
    let read: Status = serde_json::from_str(&printed).expect("the schema");
    assert_eq!((code, read), (0, status()));
    assert_keeps("status", &serde_json::from_str(&printed).expect("JSON"));
    let (code, shown, _) = reconfig(&["change", "--abort"], &manager.path);
    assert_eq!((code, shown.as_str()), (0, "as you say\n"));
}

/// A manager that resumes or recovers a subnet knows it and serves it.
#[test]
fn a_subnet_that_is_being_taken_over_is_not_called_down() {
    let manager = Manager::start(|ControlRequest { answers, .. }| {
        let sweeps = SweepStatus { heavy: 0, last_heavy_ns: 0, ..status().sweeps };
        let state = "vacating".to_string();
        let status = Status { subnet_up: false, arrival: None, state, sweeps, ..status() };
        answers.finish(Reply::Status(Box::new(status)));
    });
    let (code, shown, _) = reconfig(&["status"], &manager.path);
    let told = "the subnet is not up yet, and a change comes first (vacating): 20 switches";
    assert!(code == 1 && shown.contains(told), "{shown}");
    assert!(shown.contains(" sweeps       none yet, a light one every"), "{shown}");
    let half = shown.lines().find(|line| line.starts_with(" half ")).expect("a row");
    assert!(half.ends_with(" upper before the change under way (LMC 1)"), "sources may be on the other: {half}");
}

#[test]
fn a_standby_says_nothing_of_a_subnet_that_is_not_its_own() {
    let manager = Manager::start(|ControlRequest { answers, .. }| {
        let status = Status { role: "standby".to_string(), subnet_up: false, arrival: None, ..status() };
        answers.finish(Reply::Status(Box::new(status)));
    });
    let (code, shown, _) = reconfig(&["status"], &manager.path);
    assert!(code == 0 && shown.contains("another manager is master of the subnet, or goes before this one"), "{shown}");
    assert!(!shown.contains("NOT up"), "{shown}");
}

#[test]
fn exit_codes_tell_refusals_apart() {
    let manager = Manager::start(|ControlRequest { order, answers }| {
        let outcome = |outcome| {
            let done = ChangeDone::unwritten(outcome, Half::Lower, "test", Some("because".to_string()));
            Reply::Changed(Box::new(done))
        };
        let down = Status { subnet_up: false, last_change: None, ..status() };
        answers.finish(match order {
            ControlOrder::Status => Reply::Status(Box::new(down)),
            ControlOrder::Change(ChangeOrder { remove: SubnetElement::Switch(name), allow_cut_off, .. }) => {
                match name.as_str() {
                    "meant" if allow_cut_off => outcome(ChangeOutcome::Completed),
                    "meant" => outcome(ChangeOutcome::Refused),
                    "spine-1" => {
                        let done = ChangeDone::unwritten(ChangeOutcome::Completed, Half::Lower, "removal", None);
                        Reply::Changed(Box::new(ChangeDone { proved: true, ..done }))
                    }
                    "planned" => outcome(ChangeOutcome::Planned),
                    "refused" => outcome(ChangeOutcome::Refused),
                    "called-off" => outcome(ChangeOutcome::CalledOff),
                    "failed" => outcome(ChangeOutcome::Failed),
                    _ => Reply::refused(Fault::Request, "there is no such switch"),
                }
            }
            _ => Reply::refused(Fault::State, "not now"),
        });
    });
    let cases = [("spine-1", 0), ("planned", 0), ("refused", 1), ("called-off", 1), ("failed", 3), ("nowhere", 2)];
    for (name, expected) in cases {
        let (code, shown, said) = reconfig(&["change", "--remove-switch", name, "--planned"], &manager.path);
        assert_eq!(code, expected, "{name}: {said}");
        let is_free = shown.ends_with("\nspine-1 can be unplugged now, as long as this manager is master\n");
        assert_eq!(is_free, name == "spine-1", "{name}: {shown}");
    }
    let (_, printed, _) = reconfig(&["change", "--remove-switch", "refused", "--planned", "--json"], &manager.path);
    assert_keeps("change", &serde_json::from_str(&printed).expect("JSON"));
    let asked = ["change", "--remove-switch", "meant", "--planned"];
    assert_eq!(reconfig(&asked, &manager.path).0, 1);
    assert_eq!(reconfig(&[&asked[..], &["--allow-cut-off"]].concat(), &manager.path).0, 0);
    assert_eq!(reconfig(&["change", "--abort", "--allow-cut-off"], &manager.path).0, 2);
    assert_eq!(reconfig(&["change", "--continue"], &manager.path).0, 3);
    assert_eq!(reconfig(&["status"], &manager.path).0, 1, "the master's subnet is not up");
    assert_eq!(reconfig(&["status"], Path::new("/nowhere/at/all")).0, 3);
    assert_eq!(reconfig(&["change", "--remove-switch", "x"], &manager.path).0, 2, "planned or not?");
}

#[test]
fn events_are_printed_until_as_many_came_as_were_wanted() {
    let manager = Manager::start(|_| {});
    let (events, path) = (manager.events.clone(), manager.path.clone());
    let listener = std::thread::spawn(move || reconfig(&["events", "--count", "2", "--json"], &path));
    await_listener(&events);
    for state in ["splitting", "flushing", "installing"] {
        // The listener ends after the second.
        events.send(ControlEvent::at(1, EventKind::State { state: state.to_string() }));
    }
    let (code, printed, _) = listener.join().unwrap();
    let states: Vec<ControlEvent> = printed.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    assert_eq!((code, states.len()), (0, 2));
    printed.lines().for_each(|line| assert_keeps("events", &serde_json::from_str(line).expect("JSON")));
    assert_eq!(states[1].what, EventKind::State { state: "flushing".to_string() });
    assert!(printed.starts_with(r#"{"schema":"reconfig.event/1","at_ns":1,"event":"state","state":"splitting"}"#));
}

/// Who begins to listen during a change is told how it began.
#[test]
fn the_latest_events_come_first_for_who_asks_for_them() {
    let manager = Manager::start(|_| {});
    let happens = |lid: u64| {
        let what = EventKind::Trap { number: 128, lid: Lid(lid as u16), node: None };
        manager.events.send(ControlEvent::at(lid, what));
    };
    let all = KEPT_EVENTS as u64 + 40;
    (0..all).for_each(happens);
    let heard = |last: u32, wanted: u64| {
        let mut seen = Vec::new();
        let mut next = all;
        let ended = manager.client().listen(last, |event| {
            seen.push(event.at_ns);
            // What happens from now on follows what was kept.
            let is_last = seen.len() as u64 == wanted;
            if seen.len() as u64 + 1 == wanted {
                happens(next);
                next += 1;
            }
            !is_last
        });
        ended.map(|()| seen).unwrap()
    };
    assert_eq!(heard(2, 3), [all - 2, all - 1, all], "two that were kept, and one that came");
    let kept = KEPT_EVENTS as u64;
    assert_eq!(heard(u32::MAX, kept), (all + 1 - kept..=all).collect::<Vec<_>>(), "no more than are kept");
    let (code, printed, _) = reconfig(&["events", "--last", "3", "--count", "3"], &manager.path);
    assert_eq!((code, printed.lines().count()), (0, 3), "{printed}");
}

/// `GET path` at a server: status line, headers and body.
fn fetched(address: std::net::SocketAddr, path: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

#[test]
fn metrics_are_what_the_status_says() {
    let metrics = Arc::new(Metrics::new());
    metrics.update(&status());
    metrics.phase(&PhaseRecord { name: "drain", start_ns: 0, end_ns: 3_000_000, smps: SmpCounts::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (text, elsewhere) = runtime.block_on(async {
        let outside = MetricsServer::bind("0.0.0.0:0".parse().unwrap(), false).await;
        assert!(matches!(outside, Err(MetricsError::NotLoopback { .. })), "{outside:?}");
        let server = MetricsServer::bind("127.0.0.1:0".parse().unwrap(), false).await.unwrap();
        let address = server.address().unwrap();
        tokio::spawn(server.serve(metrics.clone()));
        let reader = tokio::task::spawn_blocking(move || (fetched(address, "/metrics"), fetched(address, "/")));
        reader.await.unwrap()
    });
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
    // The text on a metric may begin with a number, too, and one number with another.
    let holds = |text: &str, lines: &[&str]| {
        lines.iter().for_each(|&line| assert!(text.lines().any(|own| own == line), "`{line}` in:\n{text}"));
    };
    holds(
        &text,
        &[
            r#"reconfig_smps_total{attribute="PortInfo",method="Get"} 12000"#,
            "reconfig_smp_retries_total 6",
            "reconfig_late_answers_total 1",
            r#"reconfig_traps_total{number="128"} 2"#,
            "reconfig_sweeps_total 3",
            "reconfig_last_sweep_seconds 0.012",
            "reconfig_uptime_seconds 61.0",
            r#"reconfig_changes_total{outcome="completed"} 1"#,
            r#"reconfig_role{role="master"} 1"#,
            r#"reconfig_state{state="completed"} 1"#,
            r#"reconfig_sa_requests_total{attribute="PathRecord"} 9"#,
            "reconfig_subnet_up 1",
            "reconfig_degraded_attributes 0",
            "reconfig_left_out_devices 0",
            "reconfig_trouble 0",
            "reconfig_instead 0",
            "reconfig_end_ports_fenced 0",
            "reconfig_upper_half 1",
            "reconfig_switches 20",
            "reconfig_cas 16",
            "reconfig_links 48",
            "reconfig_lids 52",
            r#"reconfig_phase_seconds_count{phase="drain"} 1"#,
            "# EOF",
        ],
    );
    let later = Status {
        state: "draining".to_string(),
        role: "waiting".to_string(),
        trouble: Some("another manager is master too".to_string()),
        instead: Some("scheme auto".to_string()),
        end_ports_fenced: 16,
        subnet_up: false,
        half: Some(Half::Lower),
        degraded: [("PortInfo", 1, true), ("SwitchInfo", 1, true), ("PKeyTable", 2, false)].map(fails).to_vec(),
        ..status()
    };
    metrics.update(&later);
    let text = metrics.text();
    assert!(text.contains(r#"state="draining""#) && !text.contains(r#"state="completed""#), "{text}");
    holds(
        &text,
        &[
            r#"reconfig_role{role="waiting"} 1"#,
            "reconfig_subnet_up 0",
            "reconfig_degraded_attributes 3",
            "reconfig_left_out_devices 1",
            "reconfig_trouble 1",
            "reconfig_instead 1",
            "reconfig_end_ports_fenced 16",
            "reconfig_upper_half 0",
        ],
    );
}

fn fails((attribute, guid, left_out): (&str, u64, bool)) -> Degraded {
    Degraded {
        device: format!("leaf-{guid}"),
        guid: Guid(guid),
        attribute: attribute.to_string(),
        method: "Set".to_string(),
        fails: "silent".to_string(),
        status: None,
        since_ns: 0,
        left_out,
        follows: String::new(),
    }
}

#[test]
fn the_page_is_read_only_and_for_this_machine_alone() {
    use std::io::{Read, Write};
    let page = |parts: &PageParts| format!("<p>page</p>{}", parts.keys().copied().collect::<String>());
    let files = PageFiles { page, style: "p {}".into(), script: "'use strict';".into() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asked = |request: &'static str, parts: watch::Sender<PageParts>| {
        let files = files.clone();
        runtime.block_on(async {
            let server = WebServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
            let address = server.address().unwrap();
            tokio::spawn(server.serve(files, parts.clone()));
            let reader = tokio::task::spawn_blocking(move || {
                let mut stream = std::net::TcpStream::connect(address).expect("it serves");
                write!(stream, "{request}\r\nConnection: close\r\n\r\n").unwrap();
                let mut text = String::new();
                // A stream lasts: two parts are enough of it.
                let mut buffer = [0; 4096];
                while !text.contains("data: second") {
                    match stream.read(&mut buffer) {
                        Ok(0) | Err(_) => break,
                        Ok(length) => text += std::str::from_utf8(&buffer[..length]).expect("text"),
                    }
                }
                text
            });
            for (part, text) in [("one", "first"), ("two", "second")] {
                while parts.receiver_count() == 0 && !reader.is_finished() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                parts.send_modify(|parts| drop(parts.insert(part, Arc::from(text))));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            reader.await.unwrap()
        })
    };
    let answer = |request| asked(request, watch::Sender::new(PageParts::new()));
    let page = answer("GET / HTTP/1.1\r\nHost: 127.0.0.1:9711");
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.ends_with("<p>page</p>one"), "{page}");
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: fabric.example", "403"),
        ("GET /events HTTP/1.1\r\nHost: 10.1.2.3", "403"),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0", "405"),
        ("GET /etc/passwd HTTP/1.1\r\nHost: localhost", "404"),
    ] {
        let text = answer(request);
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {text}");
    }
    // What was drawn before the viewer came is not sent by itself, but with the next state.
    let before = PageParts::from([("old", Arc::from("earlier"))]);
    let stream = asked("GET /events HTTP/1.1\r\nHost: localhost", watch::Sender::new(before));
    let lines: Vec<&str> =
        stream.lines().filter(|line| line.starts_with("event: ") || line.starts_with("data: ")).collect();
    assert_eq!(lines[..2], ["event: old", "data: earlier"], "{stream}");
    assert_eq!(lines[lines.len() - 2..], ["event: two", "data: second"], "{stream}");
    assert_eq!(lines.iter().filter(|line| **line == "data: first").count(), 1, "only what differs is sent: {stream}");
    let outside = runtime.block_on(WebServer::bind("0.0.0.0:0".parse().unwrap()));
    assert!(matches!(&outside, Err(error) if error.to_string().contains("only loopback")), "{outside:?}");
}
