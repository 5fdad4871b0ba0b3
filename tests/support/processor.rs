//! Programs that send one another messages and wait, on one processor.

use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// While it is kept, the thread that has taken it stays on one processor, and so does what it starts; who takes the
/// next one gets the next processor.
///
/// ibsim and its clients wake each other for every datagram. Waking somebody on another processor costs more than the
/// datagram does: a fifth of the processor time of a test that runs hundreds of tools.
pub struct OneProcessor(());

impl OneProcessor {
    /// Stays where the next one's turn is; nowhere in particular on a machine that does not let itself be asked.
    pub fn take() -> OneProcessor {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Or else whoever first works on all processors would do it on this one.
        let _ = rayon::current_num_threads();
        let all = processors();
        if all.len() > 1 {
            stay_on(&all[NEXT.fetch_add(1, Ordering::Relaxed) % all.len()]);
        }
        OneProcessor(())
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        if processors().len() > 1 {
            stay_on(&processors().join(","));
        }
    }
}

/// Those that the process was given.
fn processors() -> &'static [String] {
    static ALL: OnceLock<Vec<String>> = OnceLock::new();
    ALL.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let each = |range: &str| match range.split_once('-') {
            Some((first, last)) => number(first).zip(number(last)).map(|(first, last)| first..=last),
            None => number(range).map(|only| only..=only),
        };
        list.split(',').filter_map(each).flatten().map(|processor| processor.to_string()).collect()
    })
}

/// Has the calling thread stay on these; where that fails it stays where it was, which costs time and nothing else.
fn stay_on(processors: &str) {
    let Ok(thread) = std::fs::read_link("/proc/thread-self") else { return };
    let Some(thread) = thread.file_name() else { return };
    let mut taskset = Command::new("taskset");
    let _ = taskset.args(["-pc", processors]).arg(thread).stdout(Stdio::null()).stderr(Stdio::null()).status();
}
