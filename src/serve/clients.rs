//! The connected clients with their ports, and which of them a MAD at a port is for.
//!
//! An answer goes to the client that it names: the server put the client's ID into the highest 16 bits of the
//! transaction of the request, as ibsim does. A request goes to the subnet manager at the port, if there is one. A
//! report goes to a client there that has asked for reports. Datagrams without a registered client are dropped:
//! libumad2sim does not survive a MAD of a class that its program did not register.

use crate::fabric::PortId;
use crate::wire::{MAD_SIZE, class, class_of};

/// Most clients at a time.
pub const MOST_CLIENTS: u32 = 256;

/// The highest bits of a transaction, where the client's ID stands.
pub const ID_SHIFT: u32 = 48;

/// The method of a trap, and that of the answer that ends it.
pub const TRAP: u8 = 0x05;
const TRAP_REPRESS: u8 = 0x07;

/// A connected client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// Its process.
    pub process: u32,
    /// The port that it sends from.
    pub port: PortId,
    /// It is the subnet manager there.
    pub is_sm: bool,
    /// It has asked the administration for reports.
    pub takes_reports: bool,
}

/// Why a process cannot be a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoClient {
    /// All places are taken.
    #[error("{MOST_CLIENTS} clients are connected, and no more can be: end one of them")]
    Full,
    /// Two subnet managers at one port.
    #[error("client {0} is the subnet manager at this port already: choose another node by SIM_HOST, or end it")]
    ManagerThere(u32),
}

/// All clients, by ID.
#[derive(Default)]
pub struct Clients {
    list: Vec<Option<Client>>,
}

impl Clients {
    /// Takes a client in, and gives it the least ID that is free.
    ///
    /// # Errors
    /// There are too many, or it would be the second subnet manager at its port.
    pub fn connect(&mut self, process: u32, port: PortId, is_sm: bool) -> Result<u32, NoClient> {
        if let Some(there) = self.manager_at(port).filter(|_| is_sm) {
            return Err(NoClient::ManagerThere(there));
        }
        let free = self.list.iter().position(Option::is_none).unwrap_or(self.list.len());
        if free as u32 >= MOST_CLIENTS {
            return Err(NoClient::Full);
        }
        if free == self.list.len() {
            self.list.push(None);
        }
        self.list[free] = Some(Client { process, port, is_sm, takes_reports: false });
        Ok(free as u32)
    }

    /// Forgets a client, and returns it.
    pub fn disconnect(&mut self, id: u32) -> Option<Client> {
        self.list.get_mut(id as usize)?.take()
    }

    /// The client with an ID.
    pub fn get(&self, id: u32) -> Option<&Client> {
        self.list.get(id as usize)?.as_ref()
    }

    /// The client with an ID, to be changed.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Client> {
        self.list.get_mut(id as usize)?.as_mut()
    }

    /// All clients, by ID.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Client)> {
        self.list.iter().enumerate().filter_map(|(id, client)| Some((id as u32, client.as_ref()?)))
    }

    fn manager_at(&self, port: PortId) -> Option<u32> {
        self.first(|client| client.port == port && client.is_sm)
    }

    fn first(&self, wanted: impl Fn(&Client) -> bool) -> Option<u32> {
        self.iter().find(|(_, client)| wanted(client)).map(|(id, _)| id)
    }

    /// The client that a MAD is for which came to `port`.
    pub fn addressee(&self, port: PortId, mad: &[u8; MAD_SIZE]) -> Option<u32> {
        if is_answer(mad) {
            let id = (transaction(mad) >> ID_SHIFT) as u32;
            return self.get(id).filter(|client| client.port == port).map(|_| id);
        }
        match class_of(mad) {
            class::SUBNET_ADMINISTRATION if is_report(mad) => {
                self.first(|client| client.port == port && client.takes_reports).or_else(|| self.manager_at(port))
            }
            class::SUBNET_ADMINISTRATION | class::SUBNET_LID | class::SUBNET_DIRECTED => self.manager_at(port),
            _ => None,
        }
    }
}

/// Offsets in a MAD that all classes share (section 13.4.2).
mod field {
    use std::ops::Range;

    pub const METHOD: usize = 3;
    pub const TRANSACTION: Range<usize> = 8..16;
    pub const ATTRIBUTE: Range<usize> = 16..18;
}

/// Whether a MAD answers another: the highest bit of the method says so, except for answers to traps.
pub fn is_answer(mad: &[u8; MAD_SIZE]) -> bool {
    method(mad) & 0x80 != 0 || method(mad) == TRAP_REPRESS
}

fn is_report(mad: &[u8; MAD_SIZE]) -> bool {
    method(mad) == 0x06
}

/// The method, as it stands there.
pub fn method(mad: &[u8; MAD_SIZE]) -> u8 {
    mad[field::METHOD]
}

/// The attribute, as it stands there.
pub fn attribute(mad: &[u8; MAD_SIZE]) -> u16 {
    u16::from_be_bytes([mad[field::ATTRIBUTE.start], mad[field::ATTRIBUTE.start + 1]])
}

/// The transaction number.
pub fn transaction(mad: &[u8; MAD_SIZE]) -> u64 {
    mad[field::TRANSACTION].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Puts a client's ID into the transaction number of its request.
pub fn sign(mad: &mut [u8; MAD_SIZE], id: u32) {
    number(mad, transaction(mad) & !(u64::MAX << ID_SHIFT) | u64::from(id) << ID_SHIFT);
}

/// Gives a MAD another transaction number.
pub fn number(mad: &mut [u8; MAD_SIZE], transaction: u64) {
    mad[field::TRANSACTION].copy_from_slice(&transaction.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mad(class: u8, method: u8, transaction: u64) -> [u8; MAD_SIZE] {
        let mut mad = [0; MAD_SIZE];
        (mad[1], mad[3]) = (class, method);
        mad[8..16].copy_from_slice(&transaction.to_be_bytes());
        mad
    }

    #[test]
    fn answers_go_to_who_asked_and_requests_to_the_manager() {
        let mut clients = Clients::default();
        let (here, there) = (PortId(3), PortId(4));
        let tool = clients.connect(100, here, false).unwrap();
        let manager = clients.connect(101, here, true).unwrap();
        let other = clients.connect(102, there, false).unwrap();

        let mut request = mad(class::SUBNET_DIRECTED, 0x01, 0xFFFF_0001_0000_0007);
        sign(&mut request, tool);
        assert_eq!(transaction(&request), 0x0001_0000_0007);
        let answer = |id: u32| mad(class::SUBNET_DIRECTED, 0x81, u64::from(id) << 48 | 7);
        assert_eq!(clients.addressee(here, &answer(tool)), Some(tool));
        assert_eq!(clients.addressee(here, &answer(manager)), Some(manager));
        assert_eq!(clients.addressee(here, &answer(other)), None, "it is not at that port");
        assert_eq!(clients.addressee(here, &mad(class::SUBNET_LID, 0x05, 7)), Some(manager));
        let repress = mad(class::SUBNET_LID, TRAP_REPRESS, u64::from(tool) << 48 | 7);
        assert_eq!(clients.addressee(here, &repress), Some(tool), "it sent the trap");
        assert_eq!(clients.addressee(there, &mad(class::SUBNET_LID, 0x05, 7)), None);
        assert_eq!(clients.addressee(here, &mad(0x07, 0x03, 7)), None, "nobody registered for that class");
    }

    #[test]
    fn reports_go_to_who_asked_for_them() {
        let mut clients = Clients::default();
        let port = PortId(3);
        let tool = clients.connect(100, port, false).unwrap();
        let report = mad(class::SUBNET_ADMINISTRATION, 0x06, 7);
        assert_eq!(clients.addressee(port, &report), None);
        clients.get_mut(tool).unwrap().takes_reports = true;
        assert_eq!(clients.addressee(port, &report), Some(tool));
    }

    #[test]
    fn a_second_manager_at_a_port_is_refused_and_ids_are_used_again() {
        let mut clients = Clients::default();
        let first = clients.connect(100, PortId(3), true).unwrap();
        assert_eq!(clients.connect(101, PortId(3), true), Err(NoClient::ManagerThere(first)));
        assert_eq!(clients.connect(101, PortId(4), true), Ok(1));
        assert_eq!(clients.disconnect(first).map(|client| client.process), Some(100));
        assert_eq!(clients.disconnect(first), None);
        assert_eq!(clients.connect(102, PortId(3), true), Ok(first));
    }

    #[test]
    fn there_is_an_end_to_clients() {
        let mut clients = Clients::default();
        for process in 0..MOST_CLIENTS {
            clients.connect(process, PortId(1), false).unwrap();
        }
        assert_eq!(clients.connect(999, PortId(1), false), Err(NoClient::Full));
    }
}
