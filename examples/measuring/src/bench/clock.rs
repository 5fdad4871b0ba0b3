//! A clock that other programs on the machine do not slow down, and medians of what it shows.

use std::time::Instant;

/// A moment to measure from.
pub struct Stopwatch {
    wall: Instant,
    cpu_ns: Option<u64>,
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch { wall: Instant::now(), cpu_ns: cpu_ns() }
    }

    /// Nanoseconds that this thread had a processor; on the wall where the system does not tell.
    pub fn ns(&self) -> f64 {
        let on_cpu = self.cpu_ns.zip(cpu_ns()).map(|(start, end)| end - start).filter(|&ns| ns > 0);
        on_cpu.map_or_else(|| self.wall.elapsed().as_nanos() as f64, |ns| ns as f64)
    }
}

/// What Linux says of this thread's time on a processor so far.
fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
