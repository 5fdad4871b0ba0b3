//! libibumad, loaded at run time: the only file with `unsafe`.
//!
//! On entry: a library whose name ends in `.so.3`. That version guarantees that the functions and the two structures
//! named here look as in rdma-core's `umad.h`; later additions are not used. On return: values of our own, nothing that
//! points into the library's memory. Devices are opened and closed by the C library's functions named exactly `open`
//! and `close`, because ibsim's preload replaces those and no others. Deliberately omitted: threads, unbounded waits,
//! interpretation. Source: rdma-core, libibumad's manual pages and header.

#![allow(unsafe_code)]

use super::adapters::{Adapter, AdapterPort};
use crate::ids::{Guid, Lid, PortNum, Sl};
use crate::transport::Datagram;
use crate::wire::sa::{SA_DATA_SIZE, length_of};
use crate::wire::{MAD_SIZE, PortPhysState, PortState, class, class_of};
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint, c_void};
use std::io;

/// The library's file name, version included.
pub(super) const NAME: &str = "libibumad.so.3";

/// The library's limit of adapters on a machine.
const MOST_ADAPTERS: usize = 128;
const NAME_SIZE: usize = 20;
const MOST_PORTS: usize = 10;
/// Room for the library's own header, in the larger of its two sizes, and one MAD.
const BUFFER_SIZE: usize = 512;
/// Non-blocking: a read without a MAD, or an issm device that another program holds, returns at once.
const O_NONBLOCK: c_int = 0o4000;
const O_RDONLY: c_int = 0;

/// `umad_port_t`.
#[repr(C)]
struct RawPort {
    ca_name: [c_char; NAME_SIZE],
    portnum: c_int,
    base_lid: c_uint,
    lmc: c_uint,
    sm_lid: c_uint,
    sm_sl: c_uint,
    state: c_uint,
    phys_state: c_uint,
    rate: c_uint,
    capmask: u32,
    gid_prefix: u64,
    port_guid: u64,
    pkeys_size: c_uint,
    pkeys: *mut u16,
    link_layer: [c_char; NAME_SIZE],
}

/// `umad_ca_t`.
#[repr(C)]
struct RawAdapter {
    ca_name: [c_char; NAME_SIZE],
    node_type: c_uint,
    numports: c_int,
    fw_ver: [c_char; 20],
    ca_type: [c_char; 40],
    hw_ver: [c_char; 20],
    node_guid: u64,
    system_guid: u64,
    ports: [*mut RawPort; MOST_PORTS],
}

/// The beginning of `ib_mad_addr_t`: a MAD's local route header.
#[repr(C)]
struct RawAddress {
    qpn: u32,
    qkey: u32,
    lid: u16,
    sl: u8,
    path_bits: u8,
}

/// The functions used, in the order of a port's life.
struct Functions {
    get_cas_names: unsafe extern "C" fn(*mut [c_char; NAME_SIZE], c_int) -> c_int,
    get_ca: unsafe extern "C" fn(*const c_char, *mut RawAdapter) -> c_int,
    release_ca: unsafe extern "C" fn(*mut RawAdapter) -> c_int,
    open_port: unsafe extern "C" fn(*const c_char, c_int) -> c_int,
    close_port: unsafe extern "C" fn(c_int) -> c_int,
    get_issm_path: unsafe extern "C" fn(*const c_char, c_int, *mut c_char, c_int) -> c_int,
    register: unsafe extern "C" fn(c_int, c_int, c_int, u8, *mut c_long) -> c_int,
    size: unsafe extern "C" fn() -> usize,
    get_mad: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    get_mad_addr: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    set_addr: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, c_int) -> c_int,
    status: unsafe extern "C" fn(*mut c_void) -> c_int,
    send: unsafe extern "C" fn(c_int, c_int, *mut c_void, c_int, c_int, c_int) -> c_int,
    poll: unsafe extern "C" fn(c_int, c_int) -> c_int,
    recv: unsafe extern "C" fn(c_int, *mut c_void, *mut c_int, c_int) -> c_int,
}

// The C library's, by the names that ibsim's preload knows.
unsafe extern "C" {
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(descriptor: c_int) -> c_int;
}

/// The library, loaded for as long as this lives.
pub(super) struct Library {
    functions: Functions,
    /// Keeps the functions where they are.
    _loaded: libloading::Library,
}

/// An open port of the library. Closing it removes its registrations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PortHandle(c_int);

/// A registration for a management class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Agent(c_int);

/// An open issm device: while it is open, the port reports that a subnet manager runs at it.
pub(super) struct IssmDevice(c_int);

/// The result of a read.
pub(super) enum UmadArrival {
    Mad(Datagram),
    /// A request of ours that the kernel gave up.
    GivenUp,
    /// Fewer bytes than a MAD has.
    Short,
    /// Nothing arrived in time.
    Nothing,
}

/// The headers of a MAD of subnet administration. OpenSM's answers end with their last record under ibsim; all other
/// MADs have their full length.
const SA_HEADERS: c_int = (MAD_SIZE - SA_DATA_SIZE) as c_int;

/// Memory for one MAD and the library's header, aligned as any C structure wants it.
#[repr(C, align(16))]
struct Buffer([u8; BUFFER_SIZE]);

impl Library {
    pub(super) fn load() -> Result<Library, libloading::Error> {
        // SAFETY: loading runs the library's initialisers; libibumad has none of its own, and ibsim's preload, if
        // present, was loaded before us.
        let loaded = unsafe { libloading::Library::new(NAME)? };
        // SAFETY: each type is that of the function of this name in `umad.h` of soname 3.
        let functions = unsafe {
            Functions {
                get_cas_names: *loaded.get(b"umad_get_cas_names\0")?,
                get_ca: *loaded.get(b"umad_get_ca\0")?,
                release_ca: *loaded.get(b"umad_release_ca\0")?,
                open_port: *loaded.get(b"umad_open_port\0")?,
                close_port: *loaded.get(b"umad_close_port\0")?,
                get_issm_path: *loaded.get(b"umad_get_issm_path\0")?,
                register: *loaded.get(b"umad_register\0")?,
                size: *loaded.get(b"umad_size\0")?,
                get_mad: *loaded.get(b"umad_get_mad\0")?,
                get_mad_addr: *loaded.get(b"umad_get_mad_addr\0")?,
                set_addr: *loaded.get(b"umad_set_addr\0")?,
                status: *loaded.get(b"umad_status\0")?,
                send: *loaded.get(b"umad_send\0")?,
                poll: *loaded.get(b"umad_poll\0")?,
                recv: *loaded.get(b"umad_recv\0")?,
            }
        };
        Ok(Library { functions, _loaded: loaded })
    }

    /// The names of this machine's InfiniBand adapters, in the library's order.
    pub(super) fn adapter_names(&self) -> io::Result<Vec<String>> {
        let mut names = vec![[0; NAME_SIZE]; MOST_ADAPTERS];
        // SAFETY: `names` has room for as many names as are asked for.
        let count = unsafe { (self.functions.get_cas_names)(names.as_mut_ptr(), MOST_ADAPTERS as c_int) };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        Ok(names.iter().take(count).map(|name| text(name)).collect())
    }

    /// One adapter with its ports.
    pub(super) fn adapter(&self, name: &str) -> io::Result<Adapter> {
        let c_name = CString::new(name)?;
        // SAFETY: zeros are a valid RawAdapter: numbers, texts without a letter, null pointers.
        let mut raw: RawAdapter = unsafe { std::mem::zeroed() };
        // SAFETY: the name ends in a zero, and `raw` is a umad_ca_t to be filled.
        let code = unsafe { (self.functions.get_ca)(c_name.as_ptr(), &mut raw) };
        if code < 0 {
            return Err(error_of(code));
        }
        let ports = raw.ports.iter().filter_map(|&port| {
            // SAFETY: after success each pointer is null or a umad_port_t that is ours until release_ca.
            unsafe { port.as_ref() }
        });
        let adapter = Adapter {
            name: text(&raw.ca_name),
            node_guid: Guid(u64::from_be(raw.node_guid)),
            is_switch: raw.node_type == 2,
            ports: ports.map(port_of).collect(),
        };
        // SAFETY: `raw` was filled by get_ca and is not used after this.
        unsafe { (self.functions.release_ca)(&mut raw) };
        Ok(adapter)
    }

    /// Opens one port for MADs. `EOPNOTSUPP` if the kernel has no user MADs.
    pub(super) fn open_port(&self, adapter: &str, port: PortNum) -> io::Result<PortHandle> {
        let name = CString::new(adapter)?;
        // SAFETY: the name ends in a zero and outlives the call.
        let handle = unsafe { (self.functions.open_port)(name.as_ptr(), c_int::from(port.0)) };
        if handle >= 0 {
            return Ok(PortHandle(handle));
        }
        // -EIO means that `open` failed; errno has the reason.
        Err(if handle == -EIO { io::Error::last_os_error() } else { error_of(handle) })
    }

    /// Closes a port and its agents. No thread may read from it any more.
    pub(super) fn close_port(&self, port: PortHandle) {
        // SAFETY: the handle is one that open_port gave; its owner closes it once. Nothing is left to do on failure.
        unsafe { (self.functions.close_port)(port.0) };
    }

    /// The device that announces, when opened, that a subnet manager runs on the port.
    pub(super) fn issm_path(&self, adapter: &str, port: PortNum) -> io::Result<String> {
        let name = CString::new(adapter)?;
        let mut path: [c_char; 256] = [0; 256];
        // SAFETY: `path` has room for as many bytes as the call is given.
        let code = unsafe {
            (self.functions.get_issm_path)(name.as_ptr(), c_int::from(port.0), path.as_mut_ptr(), path.len() as c_int)
        };
        if code < 0 { Err(error_of(code)) } else { Ok(text(&path)) }
    }

    /// Registers for a management class: for answers to MADs sent through the agent, and for every unsolicited MAD of
    /// that class with one of `methods`. Multi-packet transfers are our own (RMPP version 0).
    pub(super) fn register(&self, port: PortHandle, class: u8, version: u8, methods: &[u8]) -> io::Result<Agent> {
        const BITS: usize = c_long::BITS as usize;
        let mut mask: [c_long; 128 / BITS] = [0; 128 / BITS];
        for &method in methods {
            mask[usize::from(method) / BITS] |= 1 << (usize::from(method) % BITS);
        }
        // SAFETY: the handle is open, and the mask has 128 bits, as the function reads.
        let agent = unsafe {
            (self.functions.register)(port.0, c_int::from(class), c_int::from(version), 0, mask.as_mut_ptr())
        };
        if agent < 0 { Err(io::Error::last_os_error()) } else { Ok(Agent(agent)) }
    }

    /// Hands one MAD over. For a request the kernel waits `answer_ms` for the answer and drops later ones; 0 for a MAD
    /// without an answer. The kernel never repeats it.
    pub(super) fn send(&self, port: PortHandle, agent: Agent, out: &Outgoing<'_>) -> io::Result<()> {
        let mut buffer = Buffer([0; BUFFER_SIZE]);
        let start: *mut c_void = buffer.0.as_mut_ptr().cast();
        self.check_room();
        // SAFETY: the buffer is larger than header and MAD together (checked above), zeroed, and lives through the
        // calls. Without a partition index and a global route the zeros stand for the default partition and none.
        let code = unsafe {
            let mad = (self.functions.get_mad)(start);
            std::ptr::copy_nonoverlapping(out.bytes.as_ptr(), mad.cast(), MAD_SIZE);
            let (lid, qp, sl) = (c_int::from(out.lid.0), out.qp as c_int, c_int::from(out.sl.get()));
            (self.functions.set_addr)(start, lid, qp, sl, out.qkey as c_int);
            let address: *mut RawAddress = (self.functions.get_mad_addr)(start).cast();
            (*address).path_bits = out.path_bits;
            (self.functions.send)(port.0, agent.0, start, length_of(out.bytes) as c_int, out.answer_ms as c_int, 0)
        };
        if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits up to `timeout_ms` for a MAD.
    pub(super) fn receive(&self, port: PortHandle, timeout_ms: i32) -> io::Result<UmadArrival> {
        // SAFETY: the handle is open: its owner joins the reading thread before closing it.
        let code = unsafe { (self.functions.poll)(port.0, timeout_ms) };
        if code < 0 {
            return if code == -ETIMEDOUT { Ok(UmadArrival::Nothing) } else { quiet(io::Error::last_os_error()) };
        }
        let mut buffer = Buffer([0; BUFFER_SIZE]);
        let start: *mut c_void = buffer.0.as_mut_ptr().cast();
        let mut length = MAD_SIZE as c_int;
        self.check_room();
        // SAFETY: the buffer has room for the header and `length` bytes (checked above).
        let code = unsafe { (self.functions.recv)(port.0, start, &mut length, 0) };
        if code < 0 {
            return quiet(io::Error::last_os_error());
        }
        if length < SA_HEADERS || length > MAD_SIZE as c_int {
            return Ok(UmadArrival::Short);
        }
        let mut bytes = Box::new([0; MAD_SIZE]);
        // SAFETY: after success the buffer holds header, address and MAD where the library says, all within it.
        let (status, address) = unsafe {
            let mad: *const u8 = (self.functions.get_mad)(start).cast();
            std::ptr::copy_nonoverlapping(mad, bytes.as_mut_ptr(), MAD_SIZE);
            let address: *const RawAddress = (self.functions.get_mad_addr)(start).cast();
            ((self.functions.status)(start), address.read())
        };
        if status != 0 {
            return Ok(UmadArrival::GivenUp);
        }
        // The bytes after the end are zero, as the buffer was.
        if length < MAD_SIZE as c_int && class_of(&bytes) != class::SUBNET_ADMINISTRATION {
            return Ok(UmadArrival::Short);
        }
        let (lid, qp) = (Lid(u16::from_be(address.lid)), u32::from_be(address.qpn));
        Ok(UmadArrival::Mad(Datagram { lid, from: None, qp, sl: Sl::masked(address.sl), bytes }))
    }

    /// Checks that the library's header fits its room.
    fn check_room(&self) {
        // SAFETY: it takes nothing and returns a constant.
        let header = unsafe { (self.functions.size)() };
        assert!(header + MAD_SIZE <= BUFFER_SIZE, "{NAME} wants a header of {header} bytes before a MAD");
    }
}

/// A MAD to be sent, with the values for the local route header.
pub(super) struct Outgoing<'a> {
    pub(super) bytes: &'a [u8; MAD_SIZE],
    pub(super) lid: Lid,
    pub(super) qp: u32,
    pub(super) qkey: u32,
    pub(super) sl: Sl,
    /// Selects one of the port's own LIDs as the SLID: an offset from the base LID.
    pub(super) path_bits: u8,
    pub(super) answer_ms: u32,
}

impl IssmDevice {
    pub(super) fn open(path: &str) -> io::Result<IssmDevice> {
        let path = CString::new(path)?;
        // SAFETY: the path ends in a zero; nothing is created, so no mode is read.
        let descriptor = unsafe { open(path.as_ptr(), O_RDONLY | O_NONBLOCK) };
        if descriptor < 0 { Err(io::Error::last_os_error()) } else { Ok(IssmDevice(descriptor)) }
    }
}

impl Drop for IssmDevice {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and open. Nothing is left to do on failure.
        unsafe { close(self.0) };
    }
}

/// Linux error numbers, which the library returns negated.
const EIO: c_int = 5;
const ETIMEDOUT: c_int = 110;

/// A negative return value as an error.
fn error_of(code: c_int) -> io::Error {
    io::Error::from_raw_os_error(-code)
}

/// Codes that only mean that there was nothing to read are not errors.
fn quiet(error: io::Error) -> io::Result<UmadArrival> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::TimedOut => Ok(UmadArrival::Nothing),
        _ => Err(error),
    }
}

fn port_of(raw: &RawPort) -> AdapterPort {
    AdapterPort {
        number: PortNum(raw.portnum as u8),
        guid: Guid(u64::from_be(raw.port_guid)),
        state: PortState::from(raw.state as u8),
        phys_state: PortPhysState::from(raw.phys_state as u8),
        lid: Lid(raw.base_lid as u16),
        lmc: raw.lmc as u8,
        sm_lid: Lid(raw.sm_lid as u16),
        link_layer: text(&raw.link_layer),
    }
}

/// A C string, which ends at the first zero or at the end of its room.
fn text(raw: &[c_char]) -> String {
    let bytes: Vec<u8> = raw.iter().map(|&letter| letter as u8).chain([0]).collect();
    CStr::from_bytes_until_nul(&bytes).map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
}
