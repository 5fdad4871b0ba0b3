//! What a certificate lists of a class: rows of evidence, added to the places that a barrier left.

use super::steps::choices;
use super::{Class, Closure};
use crate::check::certificate::CertificateFault;
use crate::check::certificate::file::Rows;
use crate::check::certificate::lanes::Packed;
use crate::check::certificate::net::Outlet;
use crate::ids::{Lid, PortNum};
use crate::tables::SubnetTables;

impl Closure<'_> {
    /// Reads the entries of a moment; `outputs` are those of the moment before, if there is one. Returns whether each
    /// entry is known to be the same as at that moment, old and new alike.
    pub(super) fn read_outputs(&self, moment: usize, lid: Lid, outputs: &mut [[u8; 2]]) -> bool {
        let [old, new] = self.moments.all[moment].tables;
        let output = |tables: &SubnetTables, switch: usize| {
            let lft = &tables.lfts[self.net.switches[switch].index()];
            lft.get(lid).unwrap_or(PortNum::NO_ROUTE).0
        };
        match &self.rewritten[moment] {
            // Only these may differ from the moment before, whose new entries are the old ones of this. All others keep
            // what was read, so a moment costs its writes and not the size of the fabric.
            Some(switches) => {
                let mut is_steady = outputs.iter().all(|[old, new]| old == new);
                outputs.iter_mut().for_each(|outputs| outputs[0] = outputs[1]);
                for &switch in switches {
                    let entry = output(new, switch);
                    is_steady &= std::mem::replace(&mut outputs[switch][1], entry) == entry;
                }
                is_steady
            }
            None => {
                let outputs = outputs.iter_mut().enumerate();
                outputs.for_each(|(switch, outputs)| *outputs = [old, new].map(|tables| output(tables, switch)));
                false
            }
        }
    }

    /// Adds the places of a row to those that were left. A row that lists too many makes the check stricter, never
    /// weaker. Returns whether the row names switches at which packets choose; none where it lists channels.
    pub(super) fn read_row(
        &self,
        class: &mut Class,
        moment: usize,
        rows: &mut Rows<'_>,
        outputs: &[[u8; 2]],
    ) -> Result<Option<bool>, CertificateFault> {
        // Kinds of docs/CERTIFICATE.md: nothing, the LID's last list of switches again, a list of switches, channels.
        match rows.byte()? {
            0 => Ok(Some(false)),
            1 => self.choose(class, moment, outputs).map(|()| Some(true)),
            2 => {
                class.choosing = Some(rows.slice(self.net.switches.len().div_ceil(8))?);
                self.choose(class, moment, outputs).map(|()| Some(true))
            }
            3 => self.list(class, moment, rows).map(|()| None),
            tag => Err(CertificateFault::Evidence(format!("a row of LID {} begins with {tag}", class.lid))),
        }
    }

    /// Adds the usual lanes of every output of the switches at which packets choose. The row names
    /// switches only: their outputs come from the plan's own tables, so a certificate cannot omit one.
    fn choose(&self, class: &mut Class, moment: usize, outputs: &[[u8; 2]]) -> Result<(), CertificateFault> {
        let missing = || CertificateFault::Evidence(format!("LID {} has no row to be like", class.lid));
        let choosing = class.choosing.clone().ok_or_else(missing)?;
        let usual = self.groups.usual(moment, class.half);
        let bits = choosing.iter().enumerate().filter(|&(_, &byte)| byte != 0);
        let bits = bits.flat_map(|(at, &byte)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |b| at * 8 + b));
        for switch in bits {
            let Some(outputs) = outputs.get(switch) else {
                let what = format!("a row of LID {} names switch {switch}, beyond the last", class.lid);
                return Err(CertificateFault::Evidence(what));
            };
            for output in choices(*outputs) {
                if let Outlet::Port { channel, .. } | Outlet::Switch { channel, .. } =
                    self.net.outlet(moment, switch, output)
                {
                    class.add(channel, usual);
                }
            }
        }
        Ok(())
    }

    /// Adds channels with their lanes, one by one.
    fn list(&self, class: &mut Class, moment: usize, rows: &mut Rows<'_>) -> Result<(), CertificateFault> {
        let lid = class.lid;
        let damaged = |what: String| CertificateFault::Evidence(format!("a row of LID {lid} {what}"));
        let mut last = None;
        for _ in 0..rows.varint()? {
            let distance = rows.varint()? as usize;
            // Distances of zero would make a row of any length.
            if distance == 0 && last.is_some() {
                return Err(damaged("lists a channel twice".to_string()));
            }
            let channel = last.unwrap_or(0) + distance;
            last = Some(channel);
            if channel >= self.net.ends.len() || !self.net.is_sent(channel) || !self.net.is_there(moment, channel) {
                return Err(damaged(format!("names channel {channel}: no switch has it, or it is dead")));
            }
            let mut lanes: Packed = 0;
            for group in 0..self.groups.count(class.half) {
                let mask = rows.varint()?;
                let mask = u16::try_from(mask).map_err(|_| damaged(format!("has {mask} for a mask of lanes")))?;
                lanes |= Packed::from(mask) << (16 * group);
            }
            class.add(channel, lanes);
        }
        Ok(())
    }
}

impl Class {
    fn add(&mut self, channel: usize, lanes: Packed) {
        let held = &mut self.lanes[channel];
        // Where a row adds nothing, the steps may be those that were judged at the moment before.
        self.has_grown |= lanes & !*held != 0;
        if *held == 0 && lanes != 0 {
            self.touched.push(channel as u32);
        }
        *held |= lanes;
    }
}
