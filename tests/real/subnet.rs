//! A served fabric as tests take it: ibsim's console, and tools that are run to their end, with a time limit.
//!
//! Source of the console's words: what ibsim 0.10 answers to `help`.

use crate::support::processor::OneProcessor;
use reconfig_measuring::process::run::{Ended, run};
use reconfig_measuring::served::{Served, bracketed};
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

/// How long a tool may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// libumad2sim reads through a null pointer when a MAD comes for a class that its client has not asked for, such as an
/// answer repeated for a tool that ran before at the same place: seen as a crash in pthread_mutex_lock.
const BROUGHT_DOWN: &str = "signal 11";
/// How often a tool is run at most, for that reason.
const ATTEMPTS: usize = 5;
/// Tools at once; ibsim takes a good handful of clients.
const SIDE_BY_SIDE: usize = 4;

/// A simulated subnet with tools.
pub struct Subnet {
    served: Served,
    /// Where the tools run; none for the first node of the net file.
    place: Option<String>,
    /// Programs run so far: their files are numbered.
    runs: AtomicU32,
    _processor: OneProcessor,
}

impl Deref for Subnet {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}

impl DerefMut for Subnet {
    fn deref_mut(&mut self) -> &mut Served {
        &mut self.served
    }
}

impl Subnet {
    /// ibsim over a net file's text, ready.
    pub fn serve(net: &str) -> Subnet {
        let processor = OneProcessor::take();
        Subnet { served: Served::serve(net), place: None, runs: AtomicU32::new(0), _processor: processor }
    }

    /// Has the tools run at a node from now on.
    pub fn tools_at(&mut self, node: &str) {
        self.place = Some(node.to_string());
    }

    /// Has a node, or a port of it, lose so many of a hundred datagrams.
    pub fn error(&mut self, node: &str, port: Option<u8>, rate: u8) {
        self.console(&format!("Error \"{node}\"{} {rate}", bracketed(port)));
    }

    /// Runs a tool to its end; once more where ibsim's library has brought it down before it began.
    pub fn run(&self, words: &[&str]) -> Ended {
        let [program, arguments @ ..] = words else { panic!("no program") };
        let once = || {
            let mut command = self.command(program, self.place.as_deref());
            command.args(arguments);
            run(&mut command, self.folder(), &self.name(program), PATIENCE).expect("the tools are installed")
        };
        (1..ATTEMPTS).map(|_| once()).find(|ended| ended.how != BROUGHT_DOWN).unwrap_or_else(once)
    }

    /// What a tool prints, which must succeed.
    pub fn tool(&self, words: &[&str]) -> String {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{}: {}\n{}{}", words.join(" "), ended.how, ended.output, ended.errors);
        ended.output
    }

    /// What each of several calls of tools prints; a few run side by side, for they wait more than they work.
    pub fn tools(&self, calls: &[Vec<String>]) -> Vec<String> {
        let printed: Vec<Mutex<String>> = calls.iter().map(|_| Mutex::default()).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..SIDE_BY_SIDE {
                scope.spawn(|| {
                    while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&at| at < calls.len()) {
                        let words: Vec<&str> = calls[at].iter().map(String::as_str).collect();
                        *printed[at].lock().expect("nobody panics holding it") = self.tool(&words);
                    }
                });
            }
        });
        printed.into_iter().map(|text| text.into_inner().expect("nobody panics holding it")).collect()
    }

    /// A file's name without an extension, not used before.
    pub fn name(&self, program: &str) -> String {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        format!("{number:04}-{}", program.rsplit('/').next().unwrap_or_default())
    }
}
