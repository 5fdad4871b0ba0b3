//! A bundled fabric brought up, subnet administration over it, and a client that asks.

use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lid, PortNum, Sl};
use reconfig::sa::rmpp::{Receiver, RmppMessage};
use reconfig::sa::{Directory, DirectoryFacts, Sa, SaLimits};
use reconfig::transport::Datagram;
use reconfig::wire::sa::*;
use reconfig::wire::{Method, Mtu, status};
use std::sync::Arc;

pub struct Bench {
    pub sa: Sa,
    pub directory: Arc<Directory>,
    pub now_ns: u64,
    tid: u64,
}

impl Bench {
    pub fn new(name: &str, lmc: u8) -> Bench {
        let subnet = bring_up(&bundled(name), lmc, false);
        let (fabric, tables) = (Arc::new(subnet.fabric), Arc::new(subnet.tables));
        Bench::over(DirectoryFacts::modelled(fabric, tables, subnet.sm, Mtu::B2048), SaLimits::default())
    }

    pub fn over(facts: DirectoryFacts, limits: SaLimits) -> Bench {
        let directory = Arc::new(Directory::new(facts).expect("facts that are whole"));
        let mut sa = Sa::new(limits);
        sa.set_directory(directory.clone(), 0);
        Bench { sa, directory, now_ns: 0, tid: 0 }
    }

    pub fn fabric(&self) -> &Fabric {
        self.directory.fabric()
    }

    /// End port `n`, in index order.
    pub fn host(&self, n: usize) -> PortId {
        self.fabric().end_ports().nth(n).expect("as many hosts")
    }

    /// Port 0 of switch `n`.
    pub fn switch(&self, n: usize) -> PortId {
        let node = self.fabric().switches().nth(n).expect("as many switches");
        self.fabric().port_at(node, PortNum::ZERO).expect("port 0")
    }

    pub fn lids(&self, port: PortId, half: Half) -> Vec<Lid> {
        self.directory.lids(port, half)
    }

    /// A datagram from host 0.
    pub fn datagram(&self, mad: &SaMad) -> Datagram {
        self.datagram_from(self.host(0), mad)
    }

    pub fn datagram_from(&self, port: PortId, mad: &SaMad) -> Datagram {
        let lid = self.directory.base_lid(port).expect("a LID");
        Datagram { lid, from: None, qp: 1, sl: Sl::masked(3), bytes: Box::new(mad.encode()) }
    }

    /// Asks, and plays the client's part until its answer is there.
    pub fn ask(&mut self, mad: SaMad) -> Result<RmppMessage, u16> {
        self.ask_from(self.host(0), mad)
    }

    pub fn ask_from(&mut self, port: PortId, mad: SaMad) -> Result<RmppMessage, u16> {
        self.tid += 1;
        let asked = self.datagram_from(port, &mad.clone().with_tid(self.tid));
        let mut answers = self.sa.answer(&asked, self.now_ns).expect("a MAD of this class");
        let mut receiver: Option<Receiver> = None;
        while let Some(answer) = answers.pop() {
            let back = SaMad::decode(&answer.bytes).expect("an answer");
            assert_eq!((answer.lid, answer.qp, answer.sl, back.tid), (asked.lid, 1, asked.sl, self.tid));
            assert_eq!((back.method, back.attribute, back.sm_key), (mad.method.answer(), mad.attribute, 0));
            match back.status {
                status::SUCCESS if back.rmpp.active => {
                    let receiver = receiver.get_or_insert_with(|| Receiver::begin(&back, Default::default(), 0));
                    let step = receiver.take(&back, self.now_ns);
                    for ack in step.mads {
                        answers.extend(
                            self.sa.answer(&self.datagram_from(port, &ack), self.now_ns).expect("of this class"),
                        );
                    }
                    if let Some(end) = step.end {
                        return Ok(end.expect("a whole message"));
                    }
                }
                status::SUCCESS => return Ok(RmppMessage { data: back.data.to_vec(), head: back }),
                refused => return Err(refused),
            }
        }
        panic!("no answer to {mad:?}");
    }

    pub fn get<R: Record>(&mut self, mask: &[u32], record: &R) -> Result<R, u16> {
        let message = self.ask(SaMad::request(Method::Get, ComponentMask::of(mask), record))?;
        Ok(R::from_data(&message.data[..].try_into().expect("one MAD")))
    }

    pub fn table<R: Record>(&mut self, mask: &[u32], record: &R) -> Result<Vec<R>, u16> {
        self.table_by(ComponentMask::of(mask), record, 0)
    }

    pub fn table_by<R: Record>(&mut self, mask: ComponentMask, record: &R, sm_key: u64) -> Result<Vec<R>, u16> {
        let request = SaMad { sm_key, ..SaMad::request(Method::GetTable, mask, record) };
        self.ask(request).map(|message| records(&message))
    }
}

/// The records of a table.
pub fn records<R: Record>(message: &RmppMessage) -> Vec<R> {
    let size = 8 * usize::from(message.head.attribute_offset);
    if size == 0 {
        assert!(message.data.is_empty());
        return Vec::new();
    }
    assert!(size == R::SIZE && message.data.len().is_multiple_of(size), "{} bytes of {size}", message.data.len());
    message
        .data
        .chunks(size)
        .map(|chunk| R::from_data(&std::array::from_fn(|at| *chunk.get(at).unwrap_or(&0))))
        .collect()
}
