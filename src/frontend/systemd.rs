//! Notifies systemd, or another supervisor that speaks its protocol (`NOTIFY_SOCKET`); without one it does nothing.

use sd_notify::NotifyState;
use std::time::{Duration, Instant};

/// The subnet is up.
pub fn ready() {
    say(&[NotifyState::Ready]);
}

/// Sets the text that `systemctl status` shows.
pub fn status(text: &str) {
    say(&[NotifyState::Status(text)]);
}

/// The manager is about to exit.
pub fn stopping() {
    say(&[NotifyState::Stopping]);
}

/// Notifies the supervisor that the event loop is alive, if it asks for that (`WatchdogSec`).
#[derive(Debug)]
pub struct Watchdog {
    /// The interval; `None` if systemd did not request it.
    period: Option<Duration>,
    last: Instant,
}

impl Watchdog {
    /// As the environment says.
    pub fn asked_for() -> Watchdog {
        let mut limit_us = 0;
        let period = sd_notify::watchdog_enabled(false, &mut limit_us).then(|| Duration::from_micros(limit_us / 4));
        Watchdog { period, last: Instant::now() }
    }

    /// Notifies it, if that is due.
    pub fn notify(&mut self) {
        if self.period.is_some_and(|period| self.last.elapsed() >= period) {
            self.last = Instant::now();
            say(&[NotifyState::Watchdog]);
        }
    }
}

fn say(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(false, states) {
        tracing::warn!(%error, "notifying the supervisor");
    }
}
