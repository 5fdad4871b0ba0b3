//! SL-to-VL tables: the lane of each service level, by input and output port (section 7.6.6).

use crate::ids::{PortNum, Sl, Vl};

/// One SLtoVLMappingTable: a lane for each of the 16 service levels. VL 15 discards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlToVl(pub [Vl; 16]);

impl SlToVl {
    /// Every service level on VL 0.
    pub const ONE: SlToVl = SlToVl([Vl::masked(0); 16]);

    /// The table that `lane` defines.
    pub fn from_fn(lane: impl Fn(Sl) -> Vl) -> SlToVl {
        let mut table = [Vl::default(); 16];
        Sl::all().for_each(|sl| table[sl.index()] = lane(sl));
        SlToVl(table)
    }

    /// The lane of a service level.
    #[inline]
    pub fn get(&self, sl: Sl) -> Vl {
        self.0[sl.index()]
    }

    /// Whether it discards some service level.
    pub fn discards(&self) -> bool {
        self.0.contains(&Vl::MANAGEMENT)
    }
}

/// All SL-to-VL tables of one node. For a CA or a router each port has one, input 0 standing for the port's own queues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeSlToVl {
    /// One table for every input and output, as the optimised form writes it.
    Uniform(SlToVl),
    /// One table for each (input, output), input major, ports 0 to `num_ports`.
    PerPair {
        /// External ports of the node.
        num_ports: u8,
        /// (`num_ports` + 1)² tables.
        tables: Vec<SlToVl>,
    },
}

impl NodeSlToVl {
    /// The table in force from `input` to `output`.
    #[inline]
    pub fn get(&self, input: PortNum, output: PortNum) -> &SlToVl {
        match self {
            NodeSlToVl::Uniform(table) => table,
            NodeSlToVl::PerPair { num_ports, tables } => {
                &tables[input.index() * (usize::from(*num_ports) + 1) + output.index()]
            }
        }
    }

    /// Sets one table; a uniform table is expanded to pairs first.
    pub fn set(&mut self, num_ports: u8, input: PortNum, output: PortNum, table: SlToVl) {
        if *self == NodeSlToVl::Uniform(table) {
            return;
        }
        if let NodeSlToVl::Uniform(all) = self {
            let side = usize::from(num_ports) + 1;
            *self = NodeSlToVl::PerPair { num_ports, tables: vec![*all; side * side] };
        }
        let NodeSlToVl::PerPair { num_ports, tables } = self else { unreachable!("spelled out above") };
        tables[input.index() * (usize::from(*num_ports) + 1) + output.index()] = table;
    }
}
