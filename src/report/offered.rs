//! The offered traffic, in a line or two: how much, to whom, for how long.

use super::quantity::{counted, percent};
use super::screen::line;
use reconfig::scenario::TrafficReport;
use reconfig::sim::Latch;

/// What a run's traffic is set to.
pub(super) struct Offered<'a> {
    pub traffic: TrafficReport,
    pub load: f64,
    /// The share that is for other subnets, where there are some.
    pub cross: Option<f64>,
    pub packet_bytes: u16,
    pub latch: Latch,
    /// Arming, where something changes.
    pub arming: Option<&'a str>,
    pub seed: u64,
}

/// The line of traffic, and one of its pattern where that is not uniform.
pub(super) fn offered(text: &mut String, offered: &Offered<'_>) {
    let latch = format!("{:?}", offered.latch).to_lowercase();
    let how_much = match offered.traffic {
        // Load and packets are those of the trace.
        TrafficReport::Trace { .. } => String::new(),
        _ => format!("load {}{}, {} bytes a packet, ", percent(offered.load), beyond(offered), offered.packet_bytes),
    };
    let arming = offered.arming.map(|arming| format!("; arming {arming}")).unwrap_or_default();
    line(text, format_args!("traffic  {how_much}latch at {latch}{arming}; seed {}", offered.seed));
    if let Some(pattern) = pattern(offered.traffic) {
        line(text, format_args!("pattern  {pattern}"));
    }
}

/// The share between subnets. Where each has one fixed destination, it is the share that crosses.
fn beyond(offered: &Offered<'_>) -> String {
    match (offered.traffic, offered.cross) {
        (TrafficReport::Uniform, Some(share)) => format!(", {} of it between subnets", percent(share)),
        (TrafficReport::HotSpot { .. }, Some(share)) => {
            format!(", {} of what is not for the hot spot between subnets", percent(share))
        }
        _ => String::new(),
    }
}

fn pattern(traffic: TrafficReport) -> Option<String> {
    let senders = |senders: usize| counted(senders as u64, "end port");
    Some(match traffic {
        TrafficReport::Uniform => return None,
        TrafficReport::Permutation => "a permutation drawn by the seed".to_string(),
        TrafficReport::Named { name, senders: of } => format!("the permutation `{name}`, of {}", senders(of)),
        TrafficReport::Pairs { senders: of } => format!("a permutation as given, of {}", senders(of)),
        TrafficReport::Worst { senders: of } => {
            format!("the permutation that the routing before serves worst, of {}", senders(of))
        }
        TrafficReport::HotSpot { destination, share } => {
            format!("{} to the end port of rank {destination}, the rest uniform", percent(share))
        }
        TrafficReport::Trace { packets } => {
            format!("a trace of {}, timed from the start of the warm-up", counted(packets as u64, "packet"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(traffic: TrafficReport, cross: Option<f64>) -> String {
        let mut text = String::new();
        let arming = Some("off");
        let settings = Offered { traffic, load: 0.25, cross, packet_bytes: 1024, latch: Latch::Head, arming, seed: 7 };
        offered(&mut text, &settings);
        text
    }

    #[test]
    fn a_share_between_subnets_is_told_where_destinations_are_drawn() {
        let end = "1024 bytes a packet, latch at head; arming off; seed 7\n";
        let cases = [
            (TrafficReport::Uniform, None, "traffic  load 25.0 %, ", ""),
            (TrafficReport::Uniform, Some(0.1), "traffic  load 25.0 %, 10.0 % of it between subnets, ", ""),
            (
                TrafficReport::Permutation,
                Some(0.1),
                "traffic  load 25.0 %, ",
                "pattern  a permutation drawn by the seed\n",
            ),
            (
                TrafficReport::Pairs { senders: 1 },
                Some(0.1),
                "traffic  load 25.0 %, ",
                "pattern  a permutation as given, of 1 end port\n",
            ),
            (
                TrafficReport::HotSpot { destination: 3, share: 0.5 },
                Some(0.1),
                "traffic  load 25.0 %, 10.0 % of what is not for the hot spot between subnets, ",
                "pattern  50.0 % to the end port of rank 3, the rest uniform\n",
            ),
        ];
        for (traffic, cross, begin, pattern) in cases {
            assert_eq!(shown(traffic, cross), format!("{begin}{end}{pattern}"));
        }
        let trace = "traffic  latch at head; arming off; seed 7\n\
                     pattern  a trace of 2 packets, timed from the start of the warm-up\n";
        assert_eq!(shown(TrafficReport::Trace { packets: 2 }, Some(0.1)), trace);
    }
}
