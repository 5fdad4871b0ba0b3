//! Paths to other subnets: a real manager with a file of prefix routes, a real tool that asks, before and after a
//! change.

use super::installed;
use super::sm::{FOLLOWED, Sm};
use super::subnet::Subnet;
use super::told::{Fields, records};
use crate::support::across::{gid, id, joined, router_ports};
use crate::support::schema::assert_keeps;
use reconfig::fabric::format::{Format, write};
use reconfig::ids::{Half, Lid, Sl};
use reconfig::wire::Gid;

/// What `saquery PR` tells of the path between two GIDs.
fn path(subnet: &Subnet, from: Gid, to: Gid) -> Fields {
    let [from, to] = [from, to].map(|gid| gid.to_string());
    let told = subnet.tool(&["saquery", "PR", "--sgid", &from, "--dgid", &to]);
    let paths = records(&told, "PathRecord dump:");
    assert_eq!(paths.len(), 1, "{from} to {to}: {told}");
    Fields::read(paths[0])
}

/// What `reconfig resolve` tells of the path to a GID.
fn resolved(subnet: &Subnet, to: Gid) -> serde_json::Value {
    let program = super::reconfig().display().to_string();
    let ended = subnet.run(&[&program, "resolve", &to.to_string(), "--ib", "--json"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.output, ended.errors);
    let path = serde_json::from_str(&ended.output).unwrap_or_else(|error| panic!("{error}: {}", ended.output));
    assert_keeps("resolve", &path);
    path
}

fn level(path: &Fields) -> Sl {
    Sl::new(path.number("sl") as u8).expect("a service level below 16")
}

#[test]
fn a_change_moves_paths_to_other_subnets_to_the_routers_other_lids() {
    if !installed() {
        return;
    }
    let (subnets, _) = joined(2, 1, &[&[0, 1], &[0, 1]]);
    let fabric = subnets.fabric(id(0));
    let router = fabric.port(router_ports(&subnets, 1, 0)[0]).guid.expect("routers have one");
    let mut subnet = Subnet::serve(&write(fabric, Format::IbsimNet).expect("an ibsim net"));
    let routes = subnet.folder().join("prefix-routes.conf");
    let text = format!("fec0000000000002 {router} # the second router\nfec0000000000009 0x4711 # nobody\n");
    std::fs::write(&routes, text).expect("a writable folder");
    let routes = routes.display().to_string();
    let options = ["--scheme", "double", "--subnet-prefix", "fec0000000000001", "--prefix-routes", &routes];
    let manager = Sm::bring_up(&subnet, "s0-host-0", &options);
    subnet.tools_at("s0-host-1");
    let (here, there) = (gid(&subnets, 0, 1), gid(&subnets, 1, 4));
    let to_router = Gid { guid: router, ..here };
    let seen = [Half::Lower, Half::Upper].map(|half| {
        if half == Half::Upper {
            let ended = manager.ask(&subnet, "change", &["--remove-link", "s0-sw-0:1", "--planned"]);
            assert_eq!(ended.code, Some(0), "{}{}", ended.output, ended.errors);
            manager.wait(&subnet, FOLLOWED, 1);
        }
        let (far, near) = (path(&subnet, here, there), path(&subnet, here, to_router));
        assert_eq!((far.lid("dlid"), level(&far)), (near.lid("dlid"), level(&near)));
        assert_eq!(Half::of_sl(level(&far)), half);
        assert_eq!((far.text("sgid"), far.text("dgid")), (&*here.to_string(), &*there.to_string()));
        let resolved = resolved(&subnet, there);
        assert_eq!(resolved["path"]["dlid"], far.lid("dlid").0, "{resolved}");
        assert_eq!((resolved["path"]["sl"].as_u64(), &resolved["by"]), (Some(far.number("sl")), &"caller".into()));
        assert_eq!((far.number("hop_flow_raw") & 0xFF, near.number("hop_flow_raw")), (255, 0));
        far.lid("dlid")
    });
    assert_eq!(seen[1], Lid(seen[0].0 + 1), "the other half of its two LIDs");
    let warned = ["0x0000000000004711", &router.to_string()]
        .map(|guid| manager.count(&format!("name router port {guid}, which no router of this subnet has")));
    assert_eq!(warned, [1, 0], "who is not there is told once, however often the directory is made");
    let nowhere = Gid { prefix: 0xFEC0_0000_0000_0003, ..there };
    let ended = subnet.run(&["saquery", "PR", "--sgid", &here.to_string(), "--dgid", &nowhere.to_string()]);
    assert!(!ended.output.contains("PathRecord dump:"), "{}", ended.output);
}

#[test]
fn a_file_that_is_not_understood_is_told_before_anything_is_done() {
    if !installed() {
        return;
    }
    let (subnets, _) = joined(2, 1, &[&[0, 1]]);
    let net = write(subnets.fabric(id(0)), Format::IbsimNet).expect("an ibsim net");
    let subnet = Subnet::serve(&net);
    let routes = subnet.folder().join("prefix-routes.conf");
    std::fs::write(&routes, "fec0000000000002 router-0\n").expect("a writable folder");
    let program = super::reconfig().display().to_string();
    let ended = subnet.run(&[&program, "sm", "--once", "--prefix-routes", &routes.display().to_string()]);
    assert_eq!(ended.code, Some(2), "{}", ended.how);
    assert!(ended.errors.contains("prefix-routes.conf:1:18"), "{}", ended.errors);
}
