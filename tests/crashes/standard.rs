//! Standard devices under traffic, whose hosts must ask where to send. By forwarding entries alone, which is what
//! `reconfig sm` does by default where it is proved, whenever the manager is killed and whoever follows, no packet is
//! lost to the change: amid a removal no half is ever closed, and after a loss only the one on which nobody sends. By
//! `double` a successor may have to close a half on which hosts send, and what they send until they have asked again is
//! lost.

use super::world::Setting;
use super::{AUTO, DOUBLE, Going, Heir, Losses, recovered, resumed_by_itself};

/// By forwarding entries alone.
const ENTRIES: Setting = Setting { fenced: true, load: 0.0002, ..AUTO };
/// By `double`.
const LANES: Setting = Setting { fenced: true, load: 0.0002, ..DOUBLE };
/// A standby waits for the dead manager as long as for any standard device, and most packets are sent meanwhile.
const STANDBY_LOAD: f64 = 0.0001;
/// More than any position of a removal by `double` loses: 2,408 at the worst of all 479 at ten times this load.
const MOST_LOST: u64 = 500;

/// Every successor in turn.
fn survived(setting: Setting, going: Going) -> [Losses; 3] {
    let standby = Setting { load: STANDBY_LOAD, ..setting };
    [
        resumed_by_itself(setting, going),
        recovered(setting, going, Heir::WithoutJournal),
        recovered(standby, going, Heir::Standby),
    ]
}

#[test]
fn a_removal_by_entries_alone_loses_nothing_whoever_follows() {
    for Losses { lost, sent, closed, rewritten, .. } in survived(ENTRIES, Going::Planned) {
        assert!(sent > 0);
        assert_eq!((lost, closed, rewritten), (0, 0, 0));
    }
}

#[test]
fn a_loss_repaired_by_entries_alone_loses_nothing_to_the_change_whoever_follows() {
    for Losses { lost, sent, rewritten, .. } in survived(ENTRIES, Going::Sudden) {
        assert!(sent > 0);
        assert_eq!((lost, rewritten), (0, 0));
    }
}

/// Where no half is closed nothing may be lost (`sound`).
#[test]
fn a_removal_by_double_loses_no_more_than_hosts_send_on_a_closed_half() {
    for losses in survived(LANES, Going::Planned) {
        assert!(losses.sent > 0 && losses.worst <= MOST_LOST && losses.rewritten == 0, "{losses}");
        assert!(losses.positions <= losses.closed, "{losses}");
    }
}
