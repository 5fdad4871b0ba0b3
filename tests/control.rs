//! The control socket from outside: what is asked, what is answered, who may ask, and who may not have the socket.

use reconfig::ids::Lid;
use reconfig::sm::control::{
    Answers, ChangeOrder, Client, ClientError, Control, ControlError, Element, Event, Fault, Happening, Order, Reply,
    Request,
};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::broadcast;

/// Longer than any answer here takes.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

/// A manager that only answers, on a thread of its own.
struct Manager {
    _folder: tempfile::TempDir,
    path: PathBuf,
    events: broadcast::Sender<Event>,
    /// Dropped, it ends the manager.
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Manager {
    fn start(answer: impl FnMut(Request) + Send + 'static) -> Manager {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run/sm.sock");
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (ready, waiting) = mpsc::channel();
        let at = path.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(serve(&at, answer, stopped, &ready));
        });
        let events = waiting.recv().expect("the manager started");
        Manager { _folder: folder, path, events, stop: Some(stop), thread: Some(thread) }
    }

    fn client(&self) -> Client {
        Client::connect(&self.path, PATIENCE).expect("the manager runs")
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
    mut answer: impl FnMut(Request),
    stopped: tokio::sync::oneshot::Receiver<()>,
    ready: &mpsc::Sender<broadcast::Sender<Event>>,
) {
    let (control, mut requests) = Control::bind(path).expect("the socket is free");
    ready.send(control.events()).expect("the test waits");
    tokio::spawn(control.serve());
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
    let manager = Manager::start(|Request { order, answers }| {
        if let Order::Change(wanted) = &order {
            assert_eq!(wanted.remove, Element::Switch("spine-1".to_string()));
            answers.event(Event::at(7, Happening::State { state: "splitting".to_string() }));
            answers.event(Event::at(9, Happening::State { state: "installing".to_string() }));
        }
        done(answers, &format!("{order:?}"));
    });
    let mut client = manager.client();
    assert_eq!(text_of(client.ask(&Order::Sweep, |_| {}).unwrap()), "Sweep");
    let wanted = ChangeOrder { remove: Element::Switch("spine-1".to_string()), planned: true, dry_run: false };
    let mut seen = Vec::new();
    let answer = client.ask(&Order::Change(wanted), |event| seen.push(event.at_ns)).unwrap();
    assert!(text_of(answer).starts_with("Change"), "the answer belongs to the order");
    assert_eq!(seen, [7, 9]);
}

#[test]
fn what_is_no_order_is_refused_and_the_connection_goes_on() {
    use std::io::{BufRead, BufReader, Write};
    let manager = Manager::start(|request| done(request.answers, "seen"));
    let stream = std::os::unix::net::UnixStream::connect(&manager.path).unwrap();
    stream.set_read_timeout(PATIENCE).unwrap();
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
fn an_order_that_nobody_took_says_so() {
    let manager = Manager::start(drop);
    let reply = manager.client().ask(&Order::Abort, |_| {}).unwrap();
    assert!(matches!(reply, Reply::Refused { fault: Fault::State, .. }), "{reply:?}");
}

#[test]
fn listeners_hear_what_happens_and_how_much_they_missed() {
    let manager = Manager::start(|_| {});
    let events = manager.events.clone();
    let trap = |lid: u16| Event::at(u64::from(lid), Happening::Trap { number: 128, lid: Lid(lid), node: None });
    let path = manager.path.clone();
    let listener = std::thread::spawn(move || {
        let mut seen = Vec::new();
        let mut client = Client::connect(&path, PATIENCE).unwrap();
        let ended = client.listen(|event| {
            seen.push(event.what);
            seen.len() < 3
        });
        ended.map(|()| seen)
    });
    while events.receiver_count() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    // More than are kept, before the manager's task can run: the first are lost.
    for lid in 0..2_000 {
        events.send(trap(lid)).unwrap();
    }
    let seen = listener.join().unwrap().unwrap();
    let in_order = seen.iter().filter(|what| matches!(what, Happening::Trap { .. })).count();
    assert!(in_order >= 2, "{seen:?}");
}

#[test]
fn the_socket_is_its_owners_alone_and_one_managers_at_a_time() {
    let manager = Manager::start(|_| {});
    let mode = std::fs::metadata(&manager.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let second = runtime.block_on(async { Control::bind(&manager.path) });
    assert!(matches!(second, Err(ControlError::Taken { .. })), "{second:?}");
    assert!(Client::connect(&manager.path, PATIENCE).is_ok(), "the first one's socket is still there");
}

#[test]
fn a_socket_that_was_left_behind_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sm.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "a socket of a process that died");
    assert!(matches!(Client::connect(&path, PATIENCE), Err(ClientError::Nobody { .. })));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (control, _requests) = Control::bind(&path).expect("nobody holds it");
        assert!(Client::connect(&path, PATIENCE).is_ok());
        drop(control);
    });
    assert!(!path.exists(), "it goes with its manager");
}
