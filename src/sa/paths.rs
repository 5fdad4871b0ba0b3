//! PathRecord: the ends that a request names, and the paths between them.
//!
//! A client may name an end by GID or by LID, or leave one open in a GetTable. A LID of the active half stands for
//! itself. A base LID of the retired half stands for its port, because PortInfo and NodeRecord show the port under that
//! LID; the answer has LIDs of the active half. Any other LID of the retired half is a closed path and has no record.
//! No answer lets a client send on the retired half. `legs` finds a path within the subnet, `remote_paths` one to
//! another subnet.

use super::legs::{PathEnd, PathQuery};
use super::path_rate::PathRate;
use super::remote_paths::RemoteDestination;
use crate::wire::sa::{PathRecord, Record, Selector};
use crate::wire::{Gid, Mtu, status};

/// Paths for each pair of ports if the client requests no number: the largest that the field can hold.
const MOST_PATHS: usize = 127;

/// The far end of the paths requested.
enum Target {
    Here(PathEnd),
    Elsewhere(RemoteDestination),
}

impl PathQuery<'_> {
    /// The best path between two ports.
    ///
    /// # Errors
    /// The status to refuse with.
    pub(super) fn one(&self) -> Result<PathRecord, u16> {
        let (sources, destinations) = (self.sources()?, self.destinations()?);
        let (Some([source]), Some([destination])) = (sources.as_deref(), destinations.as_deref()) else {
            let open = sources.is_none() || destinations.is_none();
            return Err(if open { status::INSUFFICIENT_COMPONENTS } else { status::NO_RECORDS });
        };
        self.limits_make_sense()?;
        self.between(source, destination).next().ok_or(status::NO_RECORDS)
    }

    /// Every requested path, as a table of at most `most` bytes.
    ///
    /// # Errors
    /// The status to refuse with: *no resources* if the table would be longer.
    pub(super) fn table(&self, most: usize) -> Result<Vec<u8>, u16> {
        self.limits_make_sense()?;
        let all = || self.directory.fabric().lid_ports().map(PathEnd::any);
        let (sources, destinations) = match (self.sources(), self.destinations()) {
            (Err(status::NO_RECORDS), _) | (_, Err(status::NO_RECORDS)) => return Ok(Vec::new()),
            (sources, destinations) => (
                sources?.unwrap_or_else(|| all().collect()),
                destinations?.unwrap_or_else(|| all().map(Target::Here).collect()),
            ),
        };
        let pairs = sources.len().saturating_mul(destinations.len());
        if pairs.saturating_mul(PathRecord::SIZE) > most {
            return Err(status::NO_RESOURCES);
        }
        let mut table = Vec::new();
        for (source, destination) in sources.iter().flat_map(|from| destinations.iter().map(move |to| (from, to))) {
            for path in self.between(source, destination) {
                if table.len() + PathRecord::SIZE > most {
                    return Err(status::NO_RESOURCES);
                }
                table.extend_from_slice(&path.to_data()[..PathRecord::SIZE]);
            }
        }
        Ok(table)
    }

    fn sources(&self) -> Result<Option<Vec<PathEnd>>, u16> {
        let gid = self.mask.has(PathRecord::SGID).then_some(self.asked.sgid);
        Ok(self.end(gid, self.by_lid(PathRecord::SLID, self.asked.slid)?)?.map(|end| vec![end]))
    }

    fn destinations(&self) -> Result<Option<Vec<Target>>, u16> {
        if let Some(elsewhere) = self.remote_destination()? {
            return Ok(Some(vec![Target::Elsewhere(elsewhere)]));
        }
        let gid = self.mask.has(PathRecord::DGID).then_some(self.asked.dgid);
        let end = self.end(gid, self.by_lid(PathRecord::DLID, self.asked.dlid)?)?;
        Ok(end.map(|end| vec![Target::Here(end)]))
    }

    /// The end that the GID and the LID name; none if both are absent.
    fn end(&self, gid: Option<Gid>, by_lid: Option<PathEnd>) -> Result<Option<PathEnd>, u16> {
        let Some(gid) = gid else { return Ok(by_lid) };
        let port = self.directory.by_gid(gid).ok_or(status::INVALID_GID)?;
        match by_lid {
            Some(end) if end.port != port => Err(status::REQUEST_INVALID),
            Some(end) => Ok(Some(end)),
            None => Ok(Some(PathEnd::any(port))),
        }
    }

    /// Refuses limits with reserved values.
    fn limits_make_sense(&self) -> Result<(), u16> {
        let counts = |selector: u32, value: u32| self.mask.has_all(&[selector, value]);
        let mtu = counts(PathRecord::MTU_SELECTOR, PathRecord::MTU)
            && self.asked.mtu_selector != Selector::Most
            && Mtu::from(self.asked.mtu).bytes().is_none();
        let rate = counts(PathRecord::RATE_SELECTOR, PathRecord::RATE)
            && self.asked.rate_selector != Selector::Most
            && PathRate::from_number(self.asked.rate).is_none();
        let none = self.mask.has(PathRecord::NUMB_PATH) && self.asked.numb_path == 0;
        if mtu || rate || none { Err(status::REQUEST_INVALID) } else { Ok(()) }
    }

    /// The paths from one port to the target.
    fn between<'b>(&'b self, source: &'b PathEnd, target: &'b Target) -> Box<dyn Iterator<Item = PathRecord> + 'b> {
        let most = if self.mask.has(PathRecord::NUMB_PATH) { self.asked.numb_path.into() } else { MOST_PATHS };
        match target {
            Target::Here(end) => {
                let legs = self.legs(source, end, |from, dlid| self.levels_here(from, dlid));
                Box::new(legs.filter_map(|leg| self.path(&leg, 0)).take(most))
            }
            Target::Elsewhere(way) => Box::new(self.beyond(source, way).take(most)),
        }
    }
}
