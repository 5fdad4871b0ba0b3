//! Outages of pairs of end ports, and what each end port lost (docs/SIMULATOR.md, *Outages*).

use serde::Serialize;

/// Outages of ordered pairs of end ports, from the event on. A pair is out from the moment that a packet of it is lost
/// until a packet arrives that was sent after all that it lost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct OutageReport {
    /// Pairs that were out: the sum of `back`, `still_out` and `not_seen_again`.
    pub pairs: usize,
    /// Pairs that were back before the run ended; the longest outage and the mean are of these.
    pub back: usize,
    /// The longest outage; none if no pair is back.
    pub longest: Option<LongestOutage>,
    /// The mean outage; none if no pair is back.
    pub mean_ns: Option<u64>,
    /// Pairs whose source has sent since, of which nothing had arrived when the run ended.
    pub still_out: usize,
    /// Pairs whose source has sent nothing since.
    pub not_seen_again: usize,
    /// Pairs that the change leaves without a way: links joined both ends with their manager before, neither leaves,
    /// and one of them is joined with it no more. They are pairs within a subnet, and no outages, whatever they send.
    pub cut_off: usize,
}

/// The longest outage, and the first pair, by source and destination, that it befell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct LongestOutage {
    /// Who sends.
    pub source: String,
    /// Who receives.
    pub destination: String,
    /// How long it lasted.
    pub ns: u64,
}

/// What one end port lost from the event on. Pairs with an end that left or is cut off are counted apart, as in the
/// counts of the whole run: no manager can deliver their packets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostLosses {
    /// The end port.
    pub name: String,
    /// Packets lost that it had sent, to the failure or to the change.
    pub lost_sent: u64,
    /// Packets lost that were for it.
    pub lost_received: u64,
    /// Pairs with it at either end that lost packets.
    pub pairs: u64,
    /// Pairs of these that were not back when the run ended.
    pub not_back: u64,
    /// Those of them whose source has sent nothing since, so that nothing shows whether it has a way.
    pub not_seen_again: u64,
    /// Packets of pairs that are cut off, sent by it or for it, that were discarded.
    pub stranded: u64,
    /// Pairs with it at either end that are cut off and lost packets.
    pub cut_off: u64,
    /// The longest outage of those that were back; none if none was.
    pub longest_ns: Option<u64>,
}
