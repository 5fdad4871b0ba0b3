//! What comes, and bounces once more while it is taken in: it waits, and nobody else notices.

use super::scene::{MS, S, Scene, Setup};
use reconfig::sim::SimConfig;

#[test]
fn what_bounces_while_it_comes_costs_nobody_else() {
    for what in ["spine-1", "leaf-4", "host-16 HCA-1"] {
        let mut scene = Scene::cold("fat-tree:4,2", SimConfig::default(), Setup::default(), &[]);
        assert!(scene.until(S, |scene| scene.arrival().is_some()), "{:?}", scene.failures());
        scene.pass(3 * S);
        let node = scene.node(what);
        let gone = [scene.hosts_on(node), vec![node]].concat();
        for delay_us in (250..8_000).step_by(250) {
            scene.transport.with(|sim| sim.kill(node));
            scene.pass(600 * MS);
            scene.transport.with(|sim| sim.revive(node));
            scene.pass(delay_us * MS / 1_000);
            scene.transport.with(|sim| {
                sim.kill(node);
                sim.revive(node);
            });
            // What led over it is routed around.
            scene.pass(200 * MS);
            for _ in 0..10 {
                scene.pass(200 * MS);
                let at = format!("{what}, after {delay_us} us");
                assert_eq!(scene.unreached(&gone), [], "{at}: {:?}, {:?}", scene.degraded(), scene.failures());
            }
            let is_back = scene.until(20 * S, |scene| scene.unreached(&[]).is_empty() && scene.degraded().is_empty());
            assert!(is_back, "{what}, after {delay_us} us: {:?}, {:?}", scene.degraded(), scene.failures());
        }
    }
}
