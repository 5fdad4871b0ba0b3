//! The time of a retry: after a pause that doubles with each failure.

/// The first pause.
pub(super) const FIRST_PAUSE_NS: u64 = 10_000_000_000;

/// The next trial of something that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Retrial {
    pub(super) due_ns: u64,
    /// The pause before it.
    pub(super) pause_ns: u64,
}

impl Retrial {
    /// None: a trial would show nothing.
    pub(super) const NEVER: Retrial = Retrial { due_ns: u64::MAX, pause_ns: 0 };

    /// The first, after a failure that is seen now.
    pub(super) fn from(now_ns: u64) -> Retrial {
        Retrial { due_ns: now_ns.saturating_add(FIRST_PAUSE_NS), pause_ns: FIRST_PAUSE_NS }
    }

    pub(super) fn is_due(self, now_ns: u64) -> bool {
        self.due_ns <= now_ns
    }

    /// The one after this, counted from now; its pause is `longest_ns` at most.
    pub(super) fn next(self, now_ns: u64, longest_ns: u64) -> Retrial {
        let pause_ns = (self.pause_ns * 2).min(longest_ns);
        Retrial { due_ns: now_ns.saturating_add(pause_ns), pause_ns }
    }
}
