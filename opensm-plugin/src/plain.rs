//! The constants and structures of `shim/shim.h`, field by field. `build.rs` reads this file too, and has the C
//! compiler compare its own sizes and places with these: where the two differ nothing is built.

/// Declares constants as C has them, with their names there.
macro_rules! constants_as_in_c {
    ($($c:literal $rust:ident: $kind:ty = $value:expr;)*) => {
        $(pub const $rust: $kind = $value;)*

        /// By name in C: the values.
        #[allow(dead_code, reason = "only the build asks")]
        pub const CONSTANTS: &[(&str, i64)] = &[$(($c, $rust as i64),)*];
    };
}

constants_as_in_c! {
    "RECONFIG_NO_PEER" NO_PEER: u32 = u32::MAX;
    "RECONFIG_BLOCK_WANTED" BLOCK_WANTED: u8 = 1;
    "RECONFIG_BLOCK_SILENT" BLOCK_SILENT: u8 = 2;
    "RECONFIG_EVENT_HEAVY_SWEEP" EVENT_HEAVY_SWEEP: i32 = 0;
    "RECONFIG_EVENT_WRITTEN" EVENT_WRITTEN: i32 = 1;
    "RECONFIG_EVENT_SUBNET_UP" EVENT_SUBNET_UP: i32 = 2;
    "RECONFIG_EVENT_TAKEN_OVER" EVENT_TAKEN_OVER: i32 = 3;
    "RECONFIG_LEVEL_ERROR" LEVEL_ERROR: i32 = 0;
    "RECONFIG_LEVEL_INFO" LEVEL_INFO: i32 = 1;
}

/// Declares a structure as C has it, with its name there and where its fields are.
macro_rules! as_in_c {
    ($(#[doc = $doc:literal])* $c:literal $rust:ident { $($field:ident: $kind:ty,)* }) => {
        $(#[doc = $doc])*
        #[repr(C)]
        pub struct $rust {
            $(pub $field: $kind,)*
        }

        impl $rust {
            /// Its name in C, its size, and by field: name, offset and size, in bytes.
            #[allow(dead_code, reason = "only the build asks")]
            pub const LAYOUT: (&str, usize, &[(&str, usize, usize)]) = (
                $c,
                size_of::<$rust>(),
                &[$((stringify!($field), std::mem::offset_of!($rust, $field), size_of::<$kind>()),)*],
            );
        }
    };
}

as_in_c! {
    /// A port.
    "reconfig_port" PlainPort {
        guid: u64,
        peer: u32,
        lid: u16,
        lmc: u8,
        state: u8,
        width: u8,
        speed: u8,
        op_vls: u8,
    }
}

as_in_c! {
    /// A node.
    "reconfig_node" PlainNode {
        guid: u64,
        name: *const std::ffi::c_char,
        first_port: u32,
        kind: u8,
        num_ports: u8,
        enhanced: u8,
        reset: u8,
        lft_capacity: u16,
        lft_top: u16,
        lft_size: u32,
        lft: *const u8,
        wanted_lft: *mut u8,
        blocks: *mut u8,
    }
}

as_in_c! {
    /// What OpenSM sees.
    "reconfig_fabric" PlainFabric {
        nodes: *mut PlainNode,
        ports: *mut PlainPort,
        node_count: u32,
        port_count: u32,
        sm_port_guid: u64,
        max_lid: u16,
        life_time: u8,
        plain_levels: u8,
    }
}

as_in_c! {
    /// A switch's row of a multicast table.
    "reconfig_tree" PlainTree {
        guid: u64,
        mlid: u16,
        ports: [u8; 32],
        reserved: [u8; 6],
    }
}

as_in_c! {
    /// Where a member of a group is attached.
    "reconfig_member" PlainMember {
        guid: u64,
        port: u8,
        reserved: [u8; 7],
    }
}
