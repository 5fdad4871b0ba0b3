//! Notifies systemd, or another supervisor that speaks its protocol (`NOTIFY_SOCKET`); without one it does nothing.

use sd_notify::NotifyState;

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

fn say(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(false, states) {
        tracing::warn!(%error, "notifying the supervisor");
    }
}
