//! How evenly the engines that `reconfig sm` takes by default use the channels between switches, beside OpenSM's updn
//! on the same fabric.

use super::fabrics::Net;
use super::installed;
use super::opensm::OpenSm;
use super::picture::Picture;
use super::sm::{Place, Sm};
use super::subnet::Subnet;
use crate::real::brings_up::topology;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::BUNDLED;
use reconfig::ids::Half;
use reconfig::tables::ChannelUse;
use reconfig_measuring::started::place;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
/// What OpenSM says when the tables that it wrote are those of updn.
const RAN: &str = "updn tables configured on all switches";

/// Channels used, and the pairs on the busiest, under OpenSM's updn. It finds roots in trees; elsewhere it gets ours.
fn opensm(net: &Net, topology: &Fabric) -> (usize, u64) {
    let brought_up = |roots: Option<&str>| {
        let subnet = Subnet::serve(&net.text);
        let named = roots.map_or_else(String::new, |guid| {
            let file = subnet.folder().join("roots");
            std::fs::write(&file, format!("{guid}\n")).expect("a writable folder");
            format!("root_guid_file {}\n", file.display())
        });
        let manager = OpenSm::bring_up(&subnet, None, &format!("routing_engine updn\n{named}"));
        manager.says(RAN).then(|| Picture::take(&subnet))
    };
    let root = topology.node(place(topology).0).guid.to_string();
    let picture = brought_up(None).or_else(|| brought_up(Some(&root)));
    let picture = picture.unwrap_or_else(|| panic!("{}: updn routes it with a root", net.name));
    let told = ChannelUse::of(&picture.fabric, &picture.lfts.tables, Half::Lower);
    (told.used, told.busiest.map_or(0, |(_, pairs)| pairs))
}

/// The same under `reconfig sm` with defaults, as its status says.
fn ours(net: &Net, topology: &Fabric) -> (usize, u64) {
    let subnet = Subnet::serve(&net.text);
    let manager = Sm::bring_up(&subnet, &Place::of(topology).node, &[]);
    // A thread counts them.
    let is_counted = || manager.status(&subnet)["channels"].is_object();
    subnet.wait("the use of channels", LIMIT, is_counted);
    let status = manager.status(&subnet);
    let number = |key: &str| status["channels"][key].as_u64().unwrap_or_else(|| panic!("{status}"));
    (number("used") as usize, number("pairs"))
}

#[test]
fn channels_are_used_as_evenly_as_by_updn() {
    if !installed() {
        return;
    }
    let mut worse = Vec::new();
    for bundled in BUNDLED {
        let fabric = bundled.generate().expect("bundled fabrics can be generated");
        let text = write(&fabric, Format::IbsimNet).expect("ibsim nets are written");
        let net = Net { name: bundled.name.to_string(), text };
        let topology = topology(&net);
        let (updn, default) = (opensm(&net, &topology), ours(&net, &topology));
        println!("{:<22} used {} and {} by updn, busiest {} and {}", net.name, default.0, updn.0, default.1, updn.1);
        if default.0 * 10 < updn.0 * 9 || default.1 * 10 > updn.1 * 11 {
            worse.push(net.name);
        }
    }
    assert!(worse.is_empty(), "{worse:?}: fewer channels, or a busier one, by more than a tenth");
}
