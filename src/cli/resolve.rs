//! `reconfig resolve`: the path to a host by its address, queried from the subnet's SA.

use super::outcome::{Answer, Failure};
use super::port::PortArguments;
use super::{Common, input, output};
use anyhow::anyhow;
use reconfig::ids::{Lid, Sl};
use reconfig::resolve::{self, Destination, HostsFile, Interface, Resolver};
use reconfig::transport::Transport;
use reconfig::transport::umad::{Umad, UmadRole};
use reconfig::wire::Gid;
use std::net::IpAddr;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file has an address and a GID in each line, like ibacm's ibacm_hosts.data. It also replaces the neighbour table, which serves \
addresses in the IP subnet of an --interface: both give the same GID. docs/RESOLUTION.md describes the rules.

Examples:
  reconfig resolve 10.2.0.9 --hosts /etc/rdma/ibacm_hosts.data --interface 10.1.0.5/16
  reconfig resolve storage-1 --hosts hosts --ca mlx5_0 --port 1 --json
  reconfig resolve fec0::2:8:f104:39a:169 --ib

Exit codes: 0 there is a path; 1 the address is not in the file, or the SA knows no path; 2 wrong usage; \
3 the SA could not be queried.")]
pub(super) struct Arguments {
    /// The destination: an IP address, a name in the file, or with --ib a GID.
    name: String,
    /// File that maps addresses to GIDs; `-` is standard input.
    #[arg(long, value_name = "FILE", required_unless_present = "ib")]
    hosts: Option<String>,
    /// IPoIB interface of this host, with its prefix length; may be repeated. Without one, no address is adjacent.
    #[arg(long = "interface", value_name = "ADDRESS/LENGTH")]
    interfaces: Vec<Interface>,
    /// NAME is a GID (AF_IB): skip name resolution.
    #[arg(long, conflicts_with_all = ["hosts", "interfaces"])]
    ib: bool,
    #[command(flatten)]
    port: PortArguments,
}

/// What was found.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(super) struct ResolveReport {
    schema: &'static str,
    /// The destination as given.
    name: String,
    /// Who knows its GID.
    by: Resolver,
    /// The interface of the source, if an IP address was given and one fits.
    interface: Option<String>,
    /// GID of the source.
    sgid: String,
    /// GID of the destination; none if the file has none.
    dgid: Option<String>,
    /// The path; none if there is none.
    path: Option<ResolvedPath>,
}

/// A path, and the LIDs in a connection's request along it.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct ResolvedPath {
    slid: Lid,
    dlid: Lid,
    sl: Sl,
    hop_limit: u8,
    traffic_class: u8,
    flow_label: u32,
    /// Whether packets need a global route header: the DLID is a router's.
    crosses_routers: bool,
    /// The local LID in the request (65535: the other side takes it from the completion).
    request_local_lid: Lid,
    /// The remote LID in the request (65535: likewise).
    request_remote_lid: Lid,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let (destination, dgid) = destination(arguments)?;
    let choice = match destination {
        Some(destination) => resolve::choose(destination, &arguments.interfaces),
        // A name: programs pass it to ibacm themselves.
        None => resolve::Resolution { by: Resolver::Ibacm, interface: None },
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::undone(anyhow!(error).context("starting the event loop")))?;
    let (sgid, found) = runtime.block_on(ask(arguments, dgid))?;
    let path = found.map(|path| {
        let request = resolve::request_along(&path);
        ResolvedPath {
            slid: path.slid,
            dlid: path.dlid,
            sl: path.sl,
            hop_limit: path.hop_limit,
            traffic_class: path.traffic_class,
            flow_label: path.flow_label,
            crosses_routers: !request.subnet_local,
            request_local_lid: request.local_lid,
            request_remote_lid: request.remote_lid,
        }
    });
    let report = ResolveReport {
        schema: "reconfig.resolve/1",
        name: arguments.name.clone(),
        by: choice.by,
        interface: choice.interface.map(|own| format!("{}/{}", own.address, own.prefix_length)),
        sgid: sgid.to_string(),
        dgid: dgid.map(|gid| gid.to_string()),
        path,
    };
    show(&report, common)?;
    Ok(report.path.is_some().into())
}

/// The destination, none for a name, and its GID, none if the file has none.
fn destination(arguments: &Arguments) -> Result<(Option<Destination>, Option<Gid>), Failure> {
    let name = &arguments.name;
    let Some(file) = &arguments.hosts else {
        let gid: Gid = name.parse().map_err(Failure::input)?;
        return Ok((Some(Destination::Ib(gid)), Some(gid)));
    };
    let (shown, text) = input::read_text(file)?;
    let hosts = HostsFile::read(text.as_bytes(), &shown).map_err(|error| Failure::Unreadable(error.to_string()))?;
    Ok((name.parse::<IpAddr>().ok().map(Destination::Ip), hosts.gid(name)))
}

/// The source's GID, and the path to the destination.
async fn ask(
    arguments: &Arguments,
    dgid: Option<Gid>,
) -> Result<(Gid, Option<reconfig::wire::sa::PathRecord>), Failure> {
    let port = Umad::open(&arguments.port.options(UmadRole::Client)).map_err(Failure::undone)?;
    let (num, guid) = (port.port(), port.guid());
    let mut port = port.boxed();
    let own = resolve::own_port(&mut port, num, guid).await.map_err(Failure::undone)?;
    let Some(dgid) = dgid else { return Ok((own.gid, None)) };
    let path = resolve::ask(&mut port, &own, dgid).await.map_err(Failure::undone)?;
    Ok((own.gid, path))
}

fn show(report: &ResolveReport, common: Common) -> Result<(), Failure> {
    if common.json {
        return output::print_json(report);
    }
    let by = match (report.by, &report.interface) {
        (Resolver::Neighbour, Some(own)) => format!("the neighbour table: adjacent to {own}"),
        (Resolver::Neighbour, None) => "the neighbour table".to_string(),
        (Resolver::Ibacm, Some(own)) => format!("ibacm: not adjacent to {own}"),
        (Resolver::Ibacm, None) => "ibacm".to_string(),
        (Resolver::Caller, _) => "the caller".to_string(),
    };
    let mut text = format!("{} by {by}\nSGID     {}\n", report.name, report.sgid);
    text += &match (&report.dgid, &report.path) {
        (None, _) => "DGID     not in the file\n".to_string(),
        (Some(dgid), None) => format!("DGID     {dgid}\npath     subnet administration knows none\n"),
        (Some(dgid), Some(path)) => {
            let ResolvedPath { slid, dlid, sl, hop_limit, traffic_class, flow_label, .. } = path;
            let kind =
                if path.crosses_routers { "through a router, with a global route header" } else { "in this subnet" };
            format!(
                "DGID     {dgid}\npath     {kind}: SLID {slid}, DLID {dlid}, SL {sl}, HopLimit {hop_limit}, TClass {traffic_class}, \
                 FlowLabel {flow_label:#07x}\nrequest  local LID {:#06x}, remote LID {:#06x}\n",
                path.request_local_lid.0, path.request_remote_lid.0
            )
        }
    };
    output::print(&text)
}
