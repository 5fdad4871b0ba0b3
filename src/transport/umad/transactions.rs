//! Transaction numbers as the kernel requires them: a separate one for every transmission.
//!
//! The kernel puts the sending agent into the upper half of a request's transaction ID, refuses a second request with
//! the ID of one that it still waits for, and drops answers to requests that it no longer waits for. So a
//! retransmission under the old ID would be refused. Here every transmission gets its own number on the wire, and its
//! answer gets the intended ID back, all 64 bits. Time is an argument.

use crate::wire::{MAD_SIZE, Method};
use std::collections::VecDeque;
use std::ops::Range;

/// The position of the transaction ID in a MAD (InfiniBand specification, section 13.4.3).
const TID: Range<usize> = 8..16;
/// The position of the method.
const METHOD: usize = 3;

/// Requests that may still be answered.
#[derive(Debug)]
pub(super) struct Transactions {
    /// The time that an answer may take.
    lifetime_ns: u64,
    /// The number of the first of `open`; the others follow consecutively.
    first: u32,
    open: VecDeque<Open>,
}

#[derive(Debug)]
struct Open {
    tid: u64,
    sent_ns: u64,
}

impl Transactions {
    /// No request; an answer is accepted for `lifetime_ns` after its request.
    pub(super) fn new(lifetime_ns: u64) -> Transactions {
        Transactions { lifetime_ns, first: 1, open: VecDeque::new() }
    }

    /// Numbers a request that is about to be sent; answers are unchanged. Returns whether it is a request.
    pub(super) fn outgoing(&mut self, bytes: &mut [u8; MAD_SIZE], now_ns: u64) -> bool {
        if Method::from(bytes[METHOD]).is_answer() {
            return false;
        }
        self.forget(now_ns);
        let number = self.first.wrapping_add(self.open.len() as u32);
        self.open.push_back(Open { tid: tid(bytes), sent_ns: now_ns });
        put_tid(bytes, u64::from(number));
        true
    }

    /// Gives an incoming answer the ID of its request; unsolicited MADs are unchanged. False for an answer to no open
    /// request.
    pub(super) fn incoming(&mut self, bytes: &mut [u8; MAD_SIZE]) -> bool {
        if !Method::from(bytes[METHOD]).is_answer() {
            return true;
        }
        let number = tid(bytes) as u32;
        let Some(open) = self.open.get(number.wrapping_sub(self.first) as usize) else { return false };
        // It stays open: an answer may have several packets.
        put_tid(bytes, open.tid);
        true
    }

    fn forget(&mut self, now_ns: u64) {
        while self.open.front().is_some_and(|open| open.sent_ns.saturating_add(self.lifetime_ns) < now_ns) {
            self.open.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }
}

fn tid(bytes: &[u8; MAD_SIZE]) -> u64 {
    bytes[TID].iter().fold(0, |tid, &byte| tid << 8 | u64::from(byte))
}

fn put_tid(bytes: &mut [u8; MAD_SIZE], tid: u64) {
    bytes[TID].copy_from_slice(&tid.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mad(method: Method, tid: u64) -> [u8; MAD_SIZE] {
        let mut bytes = [0; MAD_SIZE];
        bytes[METHOD] = method.into();
        put_tid(&mut bytes, tid);
        bytes
    }

    /// The answer that a device gives to `request`, with the kernel's mark in the upper half.
    fn answer_to(request: &[u8; MAD_SIZE]) -> [u8; MAD_SIZE] {
        mad(Method::GetResp, tid(request) | 0x17 << 32)
    }

    #[test]
    fn each_transmission_has_its_own_number_and_either_answer_the_id_that_was_meant() {
        let mut transactions = Transactions::new(100);
        let meant = 0xABCD_0000_0000_0007;
        let mut copies = [mad(Method::Get, meant), mad(Method::Get, meant)];
        copies.iter_mut().for_each(|copy| assert!(transactions.outgoing(copy, 0)));
        assert_ne!(tid(&copies[0]), tid(&copies[1]));
        for copy in &copies {
            let mut answer = answer_to(copy);
            assert!(transactions.incoming(&mut answer));
            assert_eq!(tid(&answer), meant);
        }
    }

    #[test]
    fn what_others_ask_and_what_we_answer_keeps_its_id() {
        let mut transactions = Transactions::new(100);
        let mut trap = mad(Method::Trap, 5);
        assert!(transactions.incoming(&mut trap));
        let mut repress = mad(Method::TrapRepress, 5);
        assert!(!transactions.outgoing(&mut repress, 0));
        assert_eq!((tid(&trap), tid(&repress)), (5, 5));
    }

    #[test]
    fn what_is_too_old_or_was_never_asked_finds_nobody() {
        let mut transactions = Transactions::new(100);
        let mut first = mad(Method::Set, 1);
        transactions.outgoing(&mut first, 0);
        let mut second = mad(Method::Set, 2);
        transactions.outgoing(&mut second, 101);
        assert!(!transactions.incoming(&mut answer_to(&first)), "forgotten at 101");
        assert!(transactions.incoming(&mut answer_to(&second)));
        assert!(!transactions.incoming(&mut mad(Method::GetResp, 0xFFFF_FFFF)));
    }
}
