//! A transport on which devices lie about one attribute, as faulty agents do.

use async_trait::async_trait;
use reconfig::ids::{PortMask, PortNum};
use reconfig::sim::{Sim, SimTransport};
use reconfig::transport::{Datagram, Transport, TransportError};
use reconfig::wire::vendor::{ActiveHalf, DrainToken, Flush, LaneStatus};
use reconfig::wire::{self, AttributeId, Method, PerfAttributeId, PerfMad, PortDataSl, Smp, SwitchInfo};

/// What devices say that is not so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lie {
    /// Flush: that all is sent off and empty.
    Flushed,
    /// ActiveHalf: that they have settled on the half that they were told.
    Settled,
    /// DrainToken: that every token has come.
    TokensCame,
    /// LaneStatus: that nothing stands.
    LanesEmpty,
    /// PortXmitDataSL and PortRcvDataSL: that nothing was sent or received.
    NothingCounted,
    /// SwitchInfo: that packets live for 4.096 µs at most.
    ShortLives,
}

/// The simulation behind lying devices.
pub struct Liars {
    pub inner: SimTransport,
    pub lie: Lie,
    /// Whether they are honest until the sources are told to move.
    pub only_after_swap: bool,
    /// The last token that went out.
    token: DrainToken,
    has_swapped: bool,
    /// Answers that were changed.
    pub told: u32,
}

impl Liars {
    pub fn new(inner: SimTransport, lie: Lie, only_after_swap: bool) -> Liars {
        let token = DrainToken::new(0, reconfig::ids::VlSet::EMPTY);
        Liars { inner, lie, only_after_swap, token, has_swapped: false, told: 0 }
    }

    fn note(&mut self, datagram: &Datagram) {
        let Ok(smp) = Smp::decode(&datagram.bytes) else { return };
        match (smp.method, smp.attribute) {
            (Method::Set, AttributeId::ActiveHalf) => {
                self.has_swapped = true;
                if self.lie == Lie::NothingCounted {
                    // Questions for counters wait behind data of the new half, and would come after the old half's.
                    self.inner.with(Sim::stop_sources);
                }
            }
            (Method::Get | Method::Set, AttributeId::DrainToken) => self.token = DrainToken::decode(&smp.data),
            _ => {}
        }
    }

    fn twist(&mut self, datagram: &mut Datagram) {
        if self.only_after_swap && !self.has_swapped {
            return;
        }
        if wire::class_of(&datagram.bytes) == wire::class::PERFORMANCE {
            let Ok(perf) = PerfMad::decode(&datagram.bytes) else { return };
            let counts = matches!(perf.attribute, PerfAttributeId::PortXmitDataSl | PerfAttributeId::PortRcvDataSl);
            if counts && self.lie == Lie::NothingCounted {
                let data = PortDataSl { counters: [0; 16], ..PortDataSl::decode(&perf.data) }.encode();
                *datagram.bytes = PerfMad { data, ..perf }.encode();
                self.told += 1;
            }
            return;
        }
        let Ok(smp) = Smp::decode(&datagram.bytes) else { return };
        if smp.method != Method::GetResp {
            return;
        }
        if let Some(data) = self.twisted(&smp) {
            *datagram.bytes = Smp { data, ..smp }.encode();
            self.told += 1;
        }
    }

    fn twisted(&self, smp: &Smp) -> Option<[u8; wire::SMP_DATA_SIZE]> {
        let every_port: PortMask = (0..=254).map(PortNum).collect();
        Some(match (self.lie, smp.attribute) {
            (Lie::Flushed, AttributeId::Flush) => Flush { flushed: true, ..Flush::decode(&smp.data) }.encode(),
            (Lie::Settled, AttributeId::ActiveHalf) => {
                ActiveHalf { settled: true, ..ActiveHalf::decode(&smp.data) }.encode()
            }
            (Lie::TokensCame, AttributeId::DrainToken) => {
                DrainToken { complete: true, inputs_done: every_port, ..self.token }.encode()
            }
            (Lie::LanesEmpty, AttributeId::LaneStatus) => {
                LaneStatus { drained_outputs: every_port, empty_inputs: every_port }.encode()
            }
            (Lie::ShortLives, AttributeId::SwitchInfo) => {
                SwitchInfo { life_time_value: 0, ..SwitchInfo::decode(&smp.data) }.encode()
            }
            _ => return None,
        })
    }
}

#[async_trait(?Send)]
impl Transport for Liars {
    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    async fn send(&mut self, datagram: Datagram) -> Result<(), TransportError> {
        self.note(&datagram);
        self.inner.send(datagram).await
    }

    async fn recv(&mut self, until_ns: u64) -> Result<Option<Datagram>, TransportError> {
        let mut came = self.inner.recv(until_ns).await?;
        came.iter_mut().for_each(|datagram| self.twist(datagram));
        Ok(came)
    }
}
