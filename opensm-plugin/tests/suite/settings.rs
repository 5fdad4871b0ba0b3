//! The engine's own settings, and what becomes of OpenSM where they cannot be used.

use crate::harness::{OpenSm, bundled, installed};
use crate::subnet::Subnet;
use reconfig::ids::Guid;
use reconfig_opensm::config::{Multicast, OnRefusal, PluginConfig};

fn refused(text: &str) -> String {
    PluginConfig::parse(text, "reconfig.yaml").expect_err("it must be refused").to_string()
}

#[test]
fn every_setting_is_read() {
    let text = "engine: nue\non_refusal: rewrite\nrenew: false\nmulticast: ordered\n\
                evidence: {folder: /var/lib/reconfig, mib: 8}\n";
    let config = PluginConfig::parse(text, "reconfig.yaml").expect("it says what it must");
    assert_eq!((config.engines, config.on_refusal, config.renew), (vec!["nue".to_string()], OnRefusal::Rewrite, false));
    assert_eq!(config.multicast, Multicast::Ordered);
    assert_eq!(config.evidence.map(|evidence| evidence.mib), Some(8));
    let layers = PluginConfig::parse("layers: {file: /levels}", "reconfig.yaml").expect("it says what it must").layers;
    assert_eq!(layers.map(|layers| (layers.most, layers.file)), Some((8, "/levels".into())));
    assert_eq!(PluginConfig::parse("# nothing yet\n", "reconfig.yaml"), Ok(PluginConfig::default()));
    let several = PluginConfig::parse("engine: [fat-tree, nue]", "reconfig.yaml").expect("a list");
    assert_eq!(several.engines, ["fat-tree", "nue"]);
}

/// Debian runs an OpenSM for each port, with one file of settings.
#[test]
fn each_port_has_files_of_its_own() {
    let text = "evidence: {folder: /e/%g}\nmetrics: /m/%g.prom\nlayers: {file: /l/%g}\n";
    let config = PluginConfig::parse(text, "reconfig.yaml").expect("it says what it must").of_port(Guid(0x17));
    assert_eq!(config.evidence.map(|own| own.folder), Some("/e/0x0000000000000017".into()));
    assert_eq!(config.metrics, Some("/m/0x0000000000000017.prom".into()));
    assert_eq!(config.layers.map(|own| own.file), Some("/l/0x0000000000000017".into()));
}

#[test]
fn a_fault_is_named() {
    for (text, expected) in [
        ("engine: fattree", "there is no engine `fattree`"),
        ("engine: []", "`engine` is an empty list"),
        ("on_refusal: panic", "panic"),
        ("renew: maybe", "line 1"),
        ("evidence: {folder: /tmp, mib: 0}", "`evidence.mib` is 0"),
        ("engines: nue", "engines"),
        ("metrics: reconfig.prom", "`metrics` must be a whole path"),
        ("multicast: mine", "mine"),
        ("layers: {file: levels}", "`layers.file` must be a whole path"),
        ("layers: {file: /levels, most: 1}", "`layers.most` is 1: 2 to 8"),
        ("layers: {most: 4}", "file"),
    ] {
        let error = refused(text);
        assert!(error.starts_with("reconfig.yaml: ") && error.contains(expected), "{text}: {error}");
    }
    let error =
        PluginConfig::load(Some("other=1 reconfig_config=/nowhere/reconfig.yaml")).expect_err("it is not there");
    assert!(error.to_string().contains("/nowhere/reconfig.yaml"), "{error}");
}

/// With `use_ucast_cache` OpenSM would write tables that no engine was asked for.
#[test]
fn a_cache_of_tables_is_refused() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let subnet = Subnet::serve(&bundled("fat-tree-4-2"), 0.0);
    let options = "routing_engine reconfig updn\nuse_ucast_cache TRUE";
    let opensm = OpenSm::start(&subnet.socket, subnet.folder(), "", options);
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    let log = opensm.log();
    assert!(log.contains("use_ucast_cache has OpenSM write tables that it kept"), "{log}");
    assert!(log.contains("updn tables configured on all switches"), "{log}");
}

/// OpenSM goes on with its next engine, and its log says why.
#[test]
fn with_settings_that_cannot_be_used_the_next_engine_routes() {
    if !installed(&["opensm", "ibsim-run"]) {
        return;
    }
    let subnet = Subnet::serve(&bundled("fat-tree-4-2"), 0.0);
    let opensm = OpenSm::start(&subnet.socket, subnet.folder(), "engine: fattree", "routing_engine reconfig updn");
    opensm.until("SUBNET UP", |opensm| opensm.ups() > 0);
    let log = opensm.log();
    assert!(log.contains("there is no engine `fattree`"), "{log}");
    assert!(log.contains("updn tables configured on all switches"), "{log}");
}
