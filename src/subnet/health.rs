//! Failures of devices, per attribute, and the devices that are left out for them.
//!
//! A device that fails at one attribute may serve all others. Each failure is kept until the same request succeeds; the
//! caller decides whether the device can be used nevertheless. One that cannot is *left out*: sweeps treat it as one
//! that does not answer, its neighbours take the links to it down, and no packet of it passes. It is asked again after
//! a pause, which doubles with each further failure.

use super::manager::{Failed, KnownTopology, Manager};
use super::missing::LONGEST_PAUSE_NS;
use super::paths::DirectedPaths;
use super::retrial::Retrial;
use super::sweep::{FailedQuestion, Sweep};
use crate::fabric::{Fabric, NodeId, Port, PortId};
use crate::ids::Guid;
use crate::transport::Transport;
use crate::wire::{AttributeId, Method, PortInfo, PortState, SMP_DATA_SIZE};
use std::collections::{BTreeMap, BTreeSet};

/// How long a device that failed is spared further questions that are not needed.
const LATELY_NS: u64 = 300_000_000_000;
/// The longest that a device is left out at a time.
const LONGEST_ABSENCE_NS: u64 = 640_000_000_000;

/// How long a device must have accepted all writes to count as recovered, where no reading shows it.
const TAKES_FOR_NS: u64 = 60_000_000_000;

/// How often, and for how long, each of several devices must have failed before all are left out although that cuts off
/// most hosts. If a whole tier fails at once, the fault is more likely the subnet's than theirs.
const STEADY: (u32, u64) = (3, 10_000_000_000);

/// After how many pauses without being left out again a device counts as healthy.
const WELL_FOR: u64 = 4;

/// How a device fails at an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailingAs {
    /// It does not answer.
    Silent,
    /// It refuses with this status.
    Refuses(u16),
    /// It answers that it holds something else than what was written.
    HoldsOther,
    /// What it reports does not fit the subnet.
    Unfit {
        /// Why.
        why: String,
        /// Whether the device is left out for it, and not one link of several.
        wholly: bool,
    },
}

/// A device that fails at an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceFault {
    /// The device.
    pub device: Guid,
    /// Its name.
    pub name: String,
    /// The attribute.
    pub attribute: AttributeId,
    /// Get or Set.
    pub method: Method,
    /// How it fails.
    pub fails: FailingAs,
    /// Whether no data may pass through a device that fails at this.
    pub essential: bool,
    /// Since when, in nanoseconds of the transport's clock.
    pub since_ns: u64,
    /// When it was seen last.
    pub last_ns: u64,
    /// Number of times it was seen.
    pub times: u32,
    /// The modifier of the request, as far as it matters.
    modifier: u32,
    /// The table that it did not keep, if it held another one after it.
    unkept: Option<UnkeptTable>,
    /// Whether it has accepted writes since, which by themselves prove nothing.
    has_taken: bool,
    retrial: Retrial,
}

/// A table that a device did not keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UnkeptTable {
    asked: WrittenTable,
    /// What the device answered that it holds.
    held: Box<[u8; SMP_DATA_SIZE]>,
}

impl UnkeptTable {
    /// Whether accepting this table shows that the device stores what is written: it is the table that was not kept, or
    /// another one than the device held then. A device that stores nothing accepts a write of what it holds.
    fn is_refuted_by(&self, (modifier, data): &WrittenTable) -> bool {
        let (wanted, asked) = &self.asked;
        modifier == wanted && (data == asked || *data != self.held)
    }
}

impl DeviceFault {
    /// A failure to be noted.
    fn of(device: Guid, name: String, attribute: AttributeId, method: Method, fails: FailingAs) -> DeviceFault {
        let (essential, since_ns, last_ns, times) = (is_essential(attribute), 0, 0, 0);
        let (modifier, unkept, has_taken, retrial) = (0, None, false, Retrial::default());
        DeviceFault {
            device,
            name,
            attribute,
            method,
            fails,
            essential,
            since_ns,
            last_ns,
            times,
            modifier,
            unkept,
            has_taken,
            retrial,
        }
    }

    /// The failure of a newcomer that is not taken in, a device of the fabric `found`: this attribute shows why.
    pub(crate) fn unfit(found: &Fabric, node: NodeId, attribute: AttributeId, why: String) -> DeviceFault {
        let (device, name) = (found.node(node).guid, found.describe_node(node));
        let fails = FailingAs::Unfit { why, wholly: true };
        let fault = DeviceFault::of(device, name, attribute, Method::Get, fails);
        DeviceFault { essential: false, retrial: Retrial::NEVER, ..fault }
    }

    /// Whether it is the failure of a newcomer that is not taken in.
    pub fn is_unfit(&self) -> bool {
        matches!(self.fails, FailingAs::Unfit { .. }) && !self.essential
    }

    fn key(&self) -> FaultKey {
        match self.fails {
            FailingAs::Unfit { .. } => (self.device, self.attribute.into(), FailingSide::Fit),
            _ => key(self.device, self.attribute, self.method),
        }
    }

    /// The modifier of the request that it failed at.
    pub(super) fn modifier(&self) -> u32 {
        self.modifier
    }

    /// Whether what the device holds shows that it has recovered: another table than the one that it kept, a port that
    /// is ACTIVE; or, where no reading can show it, that it has accepted every write for a minute.
    fn is_refuted_by_reading(&self, data: &[u8; SMP_DATA_SIZE], now_ns: u64) -> bool {
        let is_well_for_long = self.has_taken && now_ns.saturating_sub(self.last_ns) >= TAKES_FOR_NS;
        let is_shown = match &self.unkept {
            Some(unkept) => unkept.asked.0 == self.modifier && *data != *unkept.held,
            None => self.attribute == AttributeId::PortInfo && PortInfo::decode(data).port_state == PortState::Active,
        };
        is_shown || is_well_for_long
    }
}

/// The modifier and the data of a `Set`.
pub(super) type WrittenTable = (u32, Box<[u8; SMP_DATA_SIZE]>);

/// A device that was left out for what it fails at.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Absence {
    /// Whether it is left out now, and not on trial.
    is_out: bool,
    /// When it is readmitted on trial.
    retrial: Retrial,
    /// Whether it was retried early. Once is enough: a port that trains again looks like one without a cable.
    was_hurried: bool,
    /// The devices of the hosts that it, and those left out with it, cut off.
    cuts_off: BTreeSet<Guid>,
}

impl Absence {
    fn readmit(&mut self, device: Guid) {
        self.is_out = false;
        tracing::info!(%device, "a device that was left out is tried again");
    }
}

/// The health of all devices.
#[derive(Debug, Default)]
pub(super) struct Health {
    faults: BTreeMap<FaultKey, DeviceFault>,
    absent: BTreeMap<Guid, Absence>,
}

impl Health {
    /// Devices that are left out.
    pub(super) fn left_out(&self) -> BTreeSet<Guid> {
        self.absent.iter().filter(|(_, absence)| absence.is_out).map(|(&device, _)| device).collect()
    }

    fn works(&mut self, device: Guid, attribute: AttributeId, method: Method, written: Option<&WrittenTable>) {
        let key = key(device, attribute, method);
        let Some(known) = self.faults.get_mut(&key) else { return };
        if let (Some(unkept), Some(written)) = (&known.unkept, written)
            && !unkept.is_refuted_by(written)
        {
            known.has_taken = true;
            return;
        }
        self.faults.remove(&key);
    }

    /// The last absence of a device, unless it has been healthy for long. Otherwise a device that accepts a write now
    /// and then would be taken back and left out for ever, each time after the first pause.
    fn absence_lately(&self, device: Guid, now_ns: u64) -> Option<&Absence> {
        let absence = self.absent.get(&device)?;
        let Retrial { due_ns, pause_ns } = absence.retrial;
        (absence.is_out || now_ns <= due_ns.saturating_add(WELL_FOR * pause_ns)).then_some(absence)
    }

    fn fails(&mut self, new: DeviceFault) {
        let known = self.faults.entry(new.key()).or_insert_with(|| new.clone());
        known.times += 1;
        (known.fails, known.last_ns, known.name) = (new.fails, new.last_ns, new.name);
        known.has_taken = false;
        if new.modifier != 0 {
            known.modifier = new.modifier;
        }
        // Being silent now does not disprove that the device kept its old table.
        known.unkept = new.unkept.or(known.unkept.take());
        known.essential |= new.essential;
    }

    /// The reads at which a device failed in a sweep.
    pub(super) fn questions_failed(&self, device: Guid) -> impl Iterator<Item = (AttributeId, u32)> {
        let own = self.faults.values().filter(move |fault| fault.device == device && fault.method == Method::Get);
        let of_sweeps =
            |fault: &&DeviceFault| matches!(fault.attribute, AttributeId::SwitchInfo | AttributeId::PortInfo);
        let are_asked = own.filter(of_sweeps).filter(|fault| !matches!(fault.fails, FailingAs::Unfit { .. }));
        are_asked.map(|fault| (fault.attribute, fault.modifier))
    }

    /// Whether some device that is not left out is to be asked again for what it failed at.
    pub(super) fn is_retrial_due(&self, now_ns: u64) -> bool {
        self.faults.values().any(|fault| !self.is_out(fault.device) && fault.retrial.is_due(now_ns))
    }

    /// The requests that are due for such devices now.
    pub(super) fn take_retrials(&mut self, now_ns: u64) -> Vec<DeviceFault> {
        let absent = &self.absent;
        let is_out = |device: Guid| absent.get(&device).is_some_and(|absence| absence.is_out);
        let due = self.faults.values_mut().filter(|own| !is_out(own.device) && own.retrial.is_due(now_ns));
        due.map(|fault| {
            fault.retrial = fault.retrial.next(now_ns, LONGEST_PAUSE_NS);
            fault.clone()
        })
        .collect()
    }

    fn is_out(&self, device: Guid) -> bool {
        self.absent.get(&device).is_some_and(|absence| absence.is_out)
    }

    /// Retries devices at once, one time each, because a cable is gone: silent devices may have been asked through it,
    /// and a port that did not keep its state may be at its end.
    pub(super) fn hurry_retrials(&mut self, now_ns: u64) {
        for (device, absence) in self.absent.iter_mut().filter(|(_, absence)| absence.is_out) {
            let mut own = self.faults.values().filter(|fault| fault.device == *device && fault.essential);
            let may_do_better = |fault: &DeviceFault| match fault.fails {
                FailingAs::Silent => true,
                FailingAs::HoldsOther => fault.attribute == AttributeId::PortInfo,
                FailingAs::Refuses(_) | FailingAs::Unfit { .. } => false,
            };
            if !absence.was_hurried && own.all(may_do_better) {
                (absence.retrial.due_ns, absence.was_hurried) = (now_ns, true);
                absence.readmit(*device);
            }
        }
    }

    fn readmit(&mut self, now_ns: u64) {
        let out = self.absent.iter_mut().filter(|(_, absence)| absence.is_out && absence.retrial.is_due(now_ns));
        out.for_each(|(device, absence)| absence.readmit(*device));
    }
}

/// A device, the number of an attribute, and the side that fails.
type FaultKey = (Guid, u16, FailingSide);

/// The side of an attribute that a device fails at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum FailingSide {
    Read,
    /// The value that it reports does not fit the subnet; answering does not disprove that.
    Fit,
    Write,
}

fn key(device: Guid, attribute: AttributeId, method: Method) -> FaultKey {
    let side = if method == Method::Set { FailingSide::Write } else { FailingSide::Read };
    (device, attribute.into(), side)
}

/// Whether a device that fails at this cannot be trusted with data. Whether a switch must accept SwitchInfo depends on
/// what it holds; failing at the rest harms no other device.
fn is_essential(attribute: AttributeId) -> bool {
    use AttributeId as A;
    matches!(attribute, A::PortInfo | A::LinearForwardingTable | A::SlToVlMappingTable)
}

impl<T: Transport> Manager<T> {
    /// Records that a device of the known fabric fails at an attribute; `essential` if nothing may pass through it
    /// then.
    pub fn device_fails(
        &mut self,
        node: NodeId,
        attribute: AttributeId,
        method: Method,
        fails: FailingAs,
        essential: bool,
    ) {
        let Some(topology) = &self.topology else { return };
        let device = topology.fabric.node(node).guid;
        let name = topology.fabric.describe_node(node);
        let fault = DeviceFault::of(device, name, attribute, method, fails);
        self.note(DeviceFault { essential: essential || fault.essential, ..fault });
    }

    /// Records that a device of the known fabric holds another table than was written.
    pub(super) fn keeps_another(
        &mut self,
        node: NodeId,
        attribute: AttributeId,
        asked: WrittenTable,
        held: Box<[u8; SMP_DATA_SIZE]>,
    ) {
        let Some(topology) = &self.topology else { return };
        let (device, name) = (topology.fabric.node(node).guid, topology.fabric.describe_node(node));
        let fault = DeviceFault::of(device, name, attribute, Method::Set, FailingAs::HoldsOther);
        self.note(DeviceFault { modifier: asked.0, unkept: Some(UnkeptTable { asked, held }), ..fault });
    }

    /// Records what a sweep found. A device that is gone has no failures.
    pub(super) fn swept_over(&mut self, sweep: &Sweep) {
        self.health.absent.retain(|&device, _| sweep.name(device).is_some());
        self.health.faults.retain(|_, fault| match sweep.name(fault.device) {
            None => false,
            // A sweep does not know what fits.
            Some(_) if fault.is_unfit() => true,
            Some(name) => {
                if !name.is_empty() {
                    fault.name = name;
                }
                !sweep.answered(fault.device, fault.attribute, fault.method) || fault.fails == FailingAs::HoldsOther
            }
        });
        for &FailedQuestion { device, attribute, method, modifier, status } in sweep.failing() {
            let fails = status.map_or(FailingAs::Silent, FailingAs::Refuses);
            let name = sweep.name(device).filter(|name| !name.is_empty()).unwrap_or_else(|| device.to_string());
            // Sweeps omit such a device by themselves.
            self.note(DeviceFault {
                essential: false,
                modifier,
                ..DeviceFault::of(device, name, attribute, method, fails)
            });
        }
    }

    /// Whether a device failed in the last minutes when it was asked for an attribute.
    pub fn failed_lately(&self, node: NodeId, attribute: AttributeId) -> bool {
        let Some(topology) = &self.topology else { return false };
        let known = self.health.faults.get(&key(topology.fabric.node(node).guid, attribute, Method::Get));
        known.is_some_and(|fault| self.transport.now_ns().saturating_sub(fault.last_ns) < LATELY_NS)
    }

    /// Whether a device failed at an attribute when it was last asked for it so.
    pub fn fails_at(&self, node: NodeId, attribute: AttributeId, method: Method) -> bool {
        let Some(topology) = &self.topology else { return false };
        self.health.faults.contains_key(&key(topology.fabric.node(node).guid, attribute, method))
    }

    /// Whether a switch's port-change bit stays set whatever is written.
    pub(super) fn keeps_its_bit(&self, node: NodeId) -> bool {
        self.fails_at(node, AttributeId::SwitchInfo, Method::Set)
    }

    /// Records the newcomers that are not taken in, in place of those before.
    pub fn set_unfit(&mut self, unfit: Vec<DeviceFault>) {
        let now_ns = self.transport.now_ns();
        let known = self.health.faults.values().filter(|fault| fault.is_unfit());
        let known: BTreeMap<Guid, u64> = known.map(|fault| (fault.device, fault.since_ns)).collect();
        self.health.faults.retain(|_, fault| !fault.is_unfit());
        for newcomer in unfit {
            let since_ns = known.get(&newcomer.device).copied();
            if let (None, FailingAs::Unfit { why, wholly }) = (since_ns, &newcomer.fails) {
                let part = if *wholly { "" } else { "part of it " };
                tracing::warn!("{} came and {part}is not taken in: {why}", newcomer.name);
            }
            let (since_ns, last_ns) = (since_ns.unwrap_or(now_ns), now_ns);
            self.health.faults.insert(newcomer.key(), DeviceFault { since_ns, last_ns, ..newcomer });
        }
    }

    fn note(&mut self, fault: DeviceFault) {
        // These two have an account of their own: other managers at the caller, adaptive routing in `adaptive`.
        if matches!(fault.attribute, AttributeId::SmInfo | AttributeId::AdaptiveRoutingInfo) {
            return;
        }
        let now_ns = self.transport.now_ns();
        let retrial = Retrial::from(now_ns);
        self.health.fails(DeviceFault { since_ns: now_ns, last_ns: now_ns, retrial, ..fault });
    }

    /// Records the outcome of a request to a device of the known fabric.
    pub(super) fn request_went(
        &mut self,
        node: NodeId,
        attribute: AttributeId,
        method: Method,
        outcome: Result<(), &Failed>,
    ) {
        match outcome {
            Ok(()) => {
                if let Some(topology) = &self.topology {
                    self.health.works(topology.fabric.node(node).guid, attribute, method, None);
                }
            }
            Err(failed) => {
                let fails = failed.status.map_or(FailingAs::Silent, FailingAs::Refuses);
                self.fails_when_asked(node, attribute, method, failed.request.modifier, fails);
            }
        }
    }

    /// Records a failed request, with its modifier.
    pub(super) fn fails_when_asked(
        &mut self,
        node: NodeId,
        attribute: AttributeId,
        method: Method,
        modifier: u32,
        fails: FailingAs,
    ) {
        let Some(topology) = &self.topology else { return };
        let (device, name) = (topology.fabric.node(node).guid, topology.fabric.describe_node(node));
        self.note(DeviceFault { modifier, ..DeviceFault::of(device, name, attribute, method, fails) });
    }

    /// Records that a port does not hold a setting without which nothing may pass through its device.
    pub fn port_fails(&mut self, fabric: &Fabric, port: PortId) {
        let Port { node, num, .. } = *fabric.port(port);
        self.fails_when_asked(node, AttributeId::PortInfo, Method::Set, num.0.into(), FailingAs::HoldsOther);
    }

    /// Judges a device that did not accept a write by what it holds. Returns whether reading suffices as a test;
    /// otherwise the device can be tested by writing back what it holds.
    pub(super) fn read_again(&mut self, fault: &DeviceFault, data: &[u8; SMP_DATA_SIZE]) -> bool {
        let now_ns = self.transport.now_ns();
        if fault.unkept.is_none() && fault.fails != FailingAs::HoldsOther {
            return false;
        }
        if fault.is_refuted_by_reading(data, now_ns) {
            self.health.faults.remove(&fault.key());
        }
        true
    }

    /// Records that a device of the known fabric was right to refuse what it was asked to hold.
    pub fn excuse_refusal(&mut self, node: NodeId, attribute: AttributeId) {
        self.request_went(node, attribute, Method::Set, Ok(()));
    }

    /// Records that a device of the known fabric has taken a table.
    pub(super) fn table_was_taken(&mut self, node: NodeId, attribute: AttributeId, written: &WrittenTable) {
        if let Some(topology) = &self.topology {
            self.health.works(topology.fabric.node(node).guid, attribute, Method::Set, Some(written));
        }
    }

    /// The failures of devices, by GUID and attribute, and whether each device is left out for it.
    pub fn faults(&self) -> impl Iterator<Item = (&DeviceFault, bool)> {
        self.health.faults.values().map(|fault| (fault, fault.essential && self.health.is_out(fault.device)))
    }

    /// The devices that refuse to be written an attribute, and did not before `since_ns`.
    pub fn refusing_since(&self, since_ns: u64, attribute: AttributeId) -> Vec<Guid> {
        let refuses = |fault: &&DeviceFault| {
            (fault.attribute, fault.method) == (attribute, Method::Set)
                && fault.since_ns >= since_ns
                && matches!(fault.fails, FailingAs::Refuses(_))
        };
        self.health.faults.values().filter(refuses).map(|fault| fault.device).collect()
    }

    /// Leaves out every device that has failed at something essential since `since_ns`, at least `least` times: what it
    /// holds is unknown, or not what was proved. The manager's own device is never left out, nor the switch that it
    /// depends on. Returns what was wrong with those that are out from now on.
    pub fn leave_out_faulty(&mut self, since_ns: u64, least: u32) -> Vec<DeviceFault> {
        let now_ns = self.transport.now_ns();
        let kept = self.indispensable();
        let failed = |fault: &&DeviceFault| fault.essential && fault.last_ns >= since_ns && fault.times >= least;
        let candidates = || self.health.faults.values().filter(failed).filter(|fault| !kept.contains(&fault.device));
        let out: BTreeSet<Guid> = candidates().map(|fault| fault.device).collect();
        if self.are_most(&out) {
            tracing::error!(
                devices = out.len(),
                "most devices fail: none is left out for it, since little would be left"
            );
            return Vec::new();
        }
        let cuts_off = self.cut_off_without(&out);
        if let Some(hosts) = self.are_too_many(&cuts_off, &out) {
            let steady = |fault: &DeviceFault| {
                fault.times >= STEADY.0 && fault.last_ns.saturating_sub(fault.since_ns) >= STEADY.1
            };
            if !candidates().all(steady) {
                let devices = out.len();
                tracing::error!(
                    devices,
                    hosts,
                    "several devices fail at once: without them most hosts would be cut off"
                );
                return Vec::new();
            }
        }
        let mut left = Vec::new();
        for fault in candidates() {
            let absence = self.health.absence_lately(fault.device, now_ns);
            if absence.is_some_and(|absence| absence.is_out) {
                continue;
            }
            let again = |absence: &Absence| absence.retrial.next(now_ns, LONGEST_ABSENCE_NS);
            let retrial = absence.map_or_else(|| Retrial::from(now_ns), again);
            let was_hurried = absence.is_some_and(|absence| absence.was_hurried);
            let cuts_off = cuts_off.clone();
            left.push((fault.clone(), Absence { is_out: true, retrial, was_hurried, cuts_off }));
        }
        for (fault, absence) in &left {
            self.health.absent.insert(fault.device, absence.clone());
            let (device, attribute, how) = (&fault.name, fault.attribute, &fault.fails);
            tracing::error!(%device, ?attribute, ?how, "left out: no data passes through this device until it serves this");
        }
        left.into_iter().map(|(fault, _)| fault).collect()
    }

    /// A failure since `since_ns` of the manager's own device, or of the switch that it depends on, that keeps data
    /// from passing: these two cannot be left out.
    pub fn indispensable_fault(&self, since_ns: u64) -> Option<&DeviceFault> {
        let kept = self.indispensable();
        let is_one =
            |fault: &&DeviceFault| fault.essential && fault.last_ns >= since_ns && kept.contains(&fault.device);
        self.health.faults.values().find(is_one)
    }

    /// Whether all of these devices can be left out.
    pub fn can_leave_out(&self, nodes: &[NodeId]) -> bool {
        let kept = self.indispensable();
        let guid = |node: NodeId| self.topology.as_ref().map(|topology| topology.fabric.node(node).guid);
        let out: BTreeSet<Guid> = nodes.iter().filter_map(|&node| guid(node)).collect();
        out.len() == nodes.len() && out.iter().all(|device| !kept.contains(device)) && !self.are_most(&out)
    }

    /// Whether these devices and those that are out are more than half of all: then the fault is more likely the
    /// manager's or the subnet's.
    fn are_most(&self, out: &BTreeSet<Guid>) -> bool {
        let Some(topology) = &self.topology else { return false };
        let all = topology.fabric.nodes().filter(|(_, node)| node.present).count();
        2 * (self.health.left_out().union(out).count()) > all
    }

    /// The hosts' devices that are reachable now and would not be without these.
    fn cut_off_without(&self, out: &BTreeSet<Guid>) -> BTreeSet<Guid> {
        let Some(KnownTopology { fabric, paths, sm }) = &self.topology else { return BTreeSet::new() };
        let gone: Vec<NodeId> = out.iter().filter_map(|&device| fabric.by_guid(device)).collect();
        let rest = DirectedPaths::new(&fabric.without_nodes(&gone), *sm);
        let hosts = fabric.end_ports().map(|port| fabric.port(port).node);
        let hosts = hosts.filter(|node| paths.reaches(*node) && !gone.contains(node) && !rest.reaches(*node));
        hosts.map(|node| fabric.node(node).guid).collect()
    }

    /// How many hosts are cut off without these devices and those that are out already, if that is more than half of
    /// all. `None` for a single device.
    fn are_too_many(&self, cut_off: &BTreeSet<Guid>, out: &BTreeSet<Guid>) -> Option<usize> {
        let KnownTopology { fabric, paths, .. } = self.topology.as_ref()?;
        let reached = fabric.end_ports().map(|port| fabric.port(port).node).filter(|&node| paths.reaches(node));
        let reached: BTreeSet<Guid> = reached.map(|node| fabric.node(node).guid).collect();
        let before = self.health.absent.values().filter(|absence| absence.is_out);
        let before = before.flat_map(|absence| &absence.cuts_off).filter(|device| !reached.contains(device));
        let before: BTreeSet<Guid> = before.copied().collect();
        let (lost, all) = (cut_off.len() + before.len(), reached.len() + before.len());
        let are_several = self.health.left_out().union(out).nth(1).is_some();
        (are_several && 2 * lost > all).then_some(lost)
    }

    /// The manager's own device and its switch.
    fn indispensable(&self) -> Vec<Guid> {
        let Some(KnownTopology { fabric, sm, .. }) = &self.topology else { return Vec::new() };
        let nodes = [Some(fabric.port(*sm).node), fabric.neighbour(*sm)];
        nodes.into_iter().flatten().map(|node| fabric.node(node).guid).collect()
    }

    /// Readmits on trial every device whose pause is over. Not before the sweeps within a change, nor before those that
    /// follow a failure: they may last longer than a pause, and are to show the subnet without the device.
    pub fn readmit_due(&mut self) {
        self.health.readmit(self.transport.now_ns());
    }

    /// When the next device that is left out is to be tried again.
    pub fn next_trial_ns(&self) -> Option<u64> {
        self.health.absent.values().filter(|absence| absence.is_out).map(|absence| absence.retrial.due_ns).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: AttributeId = AttributeId::LinearForwardingTable;

    fn table(of: u8) -> Box<[u8; SMP_DATA_SIZE]> {
        Box::new([of; SMP_DATA_SIZE])
    }

    fn fault(fails: FailingAs, unkept: Option<UnkeptTable>) -> DeviceFault {
        DeviceFault { unkept, ..DeviceFault::of(Guid(1), "switch-1".to_string(), TABLES, Method::Set, fails) }
    }

    /// A switch that holds table 1 and was asked to hold table 2.
    fn kept() -> Option<UnkeptTable> {
        Some(UnkeptTable { asked: (0, table(2)), held: table(1) })
    }

    #[test]
    fn what_undoes_a_write_proves_nothing_and_any_other_table_does() {
        for (modifier, written, is_well) in [(0, 1, false), (1, 3, false), (0, 2, true), (0, 3, true)] {
            let mut health = Health::default();
            health.fails(fault(FailingAs::HoldsOther, kept()));
            health.works(Guid(1), TABLES, Method::Set, Some(&(modifier, table(written))));
            assert_eq!(health.faults.is_empty(), is_well, "table {written} at {modifier}");
        }
    }

    #[test]
    fn silence_does_not_make_a_table_kept() {
        let mut health = Health::default();
        health.fails(fault(FailingAs::HoldsOther, kept()));
        health.fails(fault(FailingAs::Silent, None));
        health.works(Guid(1), TABLES, Method::Set, Some(&(0, table(1))));
        assert_eq!(health.faults.len(), 1);
    }
}
