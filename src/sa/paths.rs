//! PathRecord: which ends a request names, and the paths between them as an answer.
//!
//! A client may name an end by GID, by LID, or leave one open in a GetTable. Of LIDs: one of the active half stands for
//! itself; a base LID of the retired half stands for its port, since that is the LID by which the port is known
//! everywhere (PortInfo, NodeRecord), and is answered with the active half's LIDs; any other LID of the retired half is
//! a closed path and has no record. Nothing that is answered lets anyone send on the retired half. One path within the
//! subnet: `legs`. Destinations in other subnets: `remote_paths`.

use super::legs::{PathEnd, PathQuery};
use super::path_capacity::PathRate;
use super::remote_paths::RemoteDestination;
use crate::wire::sa::{PathRecord, Record, Selector};
use crate::wire::{Gid, Mtu, status};

/// Paths for one pair of ports when the client gives no number: the most that the field can hold.
const MOST_PATHS: usize = 127;

/// Where paths lead.
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

    /// Every path that was requested, as a table; `most` bytes of it at most.
    ///
    /// # Errors
    /// The status to refuse with: no resources for more than that.
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

    /// The end that GID and LID name; none where neither does.
    fn end(&self, gid: Option<Gid>, by_lid: Option<PathEnd>) -> Result<Option<PathEnd>, u16> {
        let Some(gid) = gid else { return Ok(by_lid) };
        let port = self.directory.by_gid(gid).ok_or(status::INVALID_GID)?;
        match by_lid {
            Some(end) if end.port != port => Err(status::REQUEST_INVALID),
            Some(end) => Ok(Some(end)),
            None => Ok(Some(PathEnd::any(port))),
        }
    }

    /// Refuses limits that mean nothing.
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

    /// The paths from one port to where they lead.
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
