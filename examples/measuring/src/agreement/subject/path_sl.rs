//! The service level of every path between end ports, as OpenSM's subnet administrator answers PathRecord queries.
//!
//! OpenSM 3.3.23 dumps no such table, so every pair is queried. The answers are written in the form
//! `0xSOURCE_NODE_GUID DLID SL`, one a line, that ibdmchk reads.
//! Source of the layout: InfiniBand Architecture Specification, volume 1, sections 13.4.3, 15.2.1.1 and 15.2.5.16.

use super::ibsim::{Client, MAD_BYTES};
use reconfig::fabric::Fabric;
use reconfig::ids::{Guid, Lid};
use std::fmt::Write;
use std::time::Duration;

/// Outstanding queries; OpenSM itself keeps to four SMPs under ibsim.
const WINDOW: usize = 4;
/// After this time without an answer the outstanding queries are repeated, this often.
const PATIENCE: Duration = Duration::from_secs(2);
const RETRIES: u32 = 5;
/// Base version 1, class SubnAdm, class version 2, method Get.
const HEADER: [u8; 4] = [1, 3, 2, 1];
const GET_RESPONSE: u8 = 0x81;
const PATH_RECORD: u16 = 0x35;
/// Component mask bits of DLID and SLID.
const BY_LIDS: u64 = 1 << 4 | 1 << 5;
/// Offsets in the MAD: status, transaction, attribute, component mask; in the record that begins at 56: DLID, SLID, SL.
const STATUS: usize = 4;
const TRANSACTION: usize = 8;
const ATTRIBUTE: usize = 16;
const COMPONENT_MASK: usize = 48;
const DLID: usize = 56 + 40;
const SLID: usize = 56 + 42;
const SL: usize = 56 + 53;

/// The SA's status if there is no path, of class SubnAdm.
const NO_RECORDS: usize = 0x0300;

/// The file's text: a line for each ordered pair of end ports that has a path.
pub fn ask(client: &Client, fabric: &Fabric) -> Result<String, String> {
    let pairs: Vec<_> = pairs(fabric).collect();
    let levels = Questions { client, pairs: &pairs, levels: vec![None; pairs.len()], next: 0, open: 0 }.ask()?;
    let mut text = String::new();
    for (pair, sl) in pairs.iter().zip(levels).filter_map(|(pair, answer)| Some((pair, answer?))) {
        let _ = writeln!(text, "{} {} {sl}", pair.0, pair.2.0);
    }
    Ok(text)
}

/// Every ordered pair of end ports: the GUID of the node that sends, the LID it sends from, the LID it sends to.
pub fn pairs(fabric: &Fabric) -> impl Iterator<Item = (Guid, Lid, Lid)> {
    let ends: Vec<(Guid, Lid)> = fabric
        .end_ports()
        .filter_map(|id| {
            let port = fabric.port(id);
            port.lid.map(|lid| (fabric.node(port.node).guid, lid))
        })
        .collect();
    let sources = ends.clone().into_iter();
    sources.flat_map(move |(guid, slid)| {
        let others: Vec<Lid> = ends.iter().map(|&(_, dlid)| dlid).filter(|&dlid| dlid != slid).collect();
        others.into_iter().map(move |dlid| (guid, slid, dlid))
    })
}

/// Outstanding queries: the transaction number is the pair's index.
struct Questions<'a> {
    client: &'a Client,
    pairs: &'a [(Guid, Lid, Lid)],
    /// SL of each pair that was answered; the inner `None` if there is no path.
    levels: Vec<Option<Option<u8>>>,
    /// The first pair that was not queried yet.
    next: usize,
    open: usize,
}

impl Questions<'_> {
    fn ask(mut self) -> Result<Vec<Option<u8>>, String> {
        self.client.wait_at_most(PATIENCE).map_err(|error| error.to_string())?;
        let mut silent = 0;
        while self.next < self.pairs.len() || self.open > 0 {
            while self.open < WINDOW && self.next < self.pairs.len() {
                self.send(self.next)?;
                self.next += 1;
                self.open += 1;
            }
            match self.client.receive().map_err(|error| format!("ibsim's socket: {error}"))? {
                Some(mad) => {
                    silent = 0;
                    self.take(&mad)?;
                }
                None if silent < RETRIES => {
                    silent += 1;
                    self.repeat()?;
                }
                None => {
                    return Err(format!("OpenSM's SA is silent; {} of {} paths asked", self.next, self.pairs.len()));
                }
            }
        }
        Ok(self.levels.into_iter().flatten().collect())
    }

    fn send(&self, index: usize) -> Result<(), String> {
        let (_, slid, dlid) = self.pairs[index];
        let mut mad = [0; MAD_BYTES];
        mad[..4].copy_from_slice(&HEADER);
        mad[TRANSACTION + 4..ATTRIBUTE].copy_from_slice(&(index as u32).to_be_bytes());
        mad[ATTRIBUTE..ATTRIBUTE + 2].copy_from_slice(&PATH_RECORD.to_be_bytes());
        mad[COMPONENT_MASK..COMPONENT_MASK + 8].copy_from_slice(&BY_LIDS.to_be_bytes());
        mad[DLID..SLID].copy_from_slice(&dlid.0.to_be_bytes());
        mad[SLID..SLID + 2].copy_from_slice(&slid.0.to_be_bytes());
        self.client.send(&mad).map_err(|error| format!("ibsim's socket: {error}"))
    }

    /// Repeats the outstanding queries.
    fn repeat(&self) -> Result<(), String> {
        let open = (0..self.next).rev().filter(|&index| self.levels[index].is_none());
        open.take(self.open).try_for_each(|index| self.send(index))
    }

    fn take(&mut self, mad: &[u8; MAD_BYTES]) -> Result<(), String> {
        let word = |at: usize| usize::from(mad[at]) << 8 | usize::from(mad[at + 1]);
        let index = word(TRANSACTION + 4) << 16 | word(TRANSACTION + 6);
        // Anything but an answer is a query that ibsim could not deliver: it is repeated later.
        let (true, Some((_, slid, dlid))) = (mad[3] == GET_RESPONSE, self.pairs.get(index)) else { return Ok(()) };
        let answer = match word(STATUS) {
            0 => Some(mad[SL] & 0xf),
            NO_RECORDS => None,
            status => return Err(format!("OpenSM's SA: status {status:#06x} for LID {slid} to {dlid}")),
        };
        if self.levels[index].replace(answer).is_none() {
            self.open -= 1;
        }
        Ok(())
    }
}
