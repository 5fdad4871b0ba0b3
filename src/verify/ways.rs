//! Ways by one output at each switch, followed to their ends, each switch passed once.

/// The fate of packets at an output of a switch.
pub(super) enum WayStep<E> {
    /// Sends them into another switch.
    Switch(usize),
    /// Ends their way.
    End(E),
}

/// The way from a switch.
#[derive(Clone, Copy)]
pub(super) struct Way<E> {
    /// Its end.
    pub end: E,
    /// Switches that it passes, the first included.
    pub switches: usize,
}

/// The ways of one DLID after another.
pub(super) struct WayEnds<E> {
    /// By switch, once it was passed: its way, unless that leads into a ring or is still being followed.
    known: Vec<Option<Option<Way<E>>>>,
    passed: Vec<usize>,
}

impl<E: Copy> WayEnds<E> {
    /// Of switches numbered below `switches`.
    pub fn new(switches: usize) -> WayEnds<E> {
        WayEnds { known: vec![None; switches], passed: Vec::new() }
    }

    /// Turns to other outputs.
    pub fn clear(&mut self) {
        self.known.fill(None);
    }

    /// The way from a switch; none if it leads into a ring.
    pub fn from(&mut self, start: usize, hop: impl Fn(usize) -> WayStep<E>) -> Option<Way<E>> {
        let mut at = start;
        let mut way = loop {
            if let Some(way) = self.known[at] {
                break way;
            }
            self.known[at] = Some(None);
            self.passed.push(at);
            match hop(at) {
                WayStep::Switch(next) => at = next,
                WayStep::End(end) => break Some(Way { end, switches: 0 }),
            }
        };
        while let Some(switch) = self.passed.pop() {
            way = way.map(|way| Way { switches: way.switches + 1, ..way });
            self.known[switch] = Some(way);
        }
        way
    }
}
