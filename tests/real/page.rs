//! The page of `reconfig sm --web` in a real browser, while a change moves through a real subnet.

use super::fabrics::generated;
use super::installed;
use super::scene::Scene;
use super::sm::COMPLETED;
use crate::support::browser::{self, Browser};

/// What its log says where the page is.
const PAGE: &str = "a page about this manager: ";
const VERDICT: &str = "document.querySelector('#verdict .word')?.textContent";

#[test]
fn a_change_moves_through_the_page() {
    if !installed() || !browser::is_there() {
        return;
    }
    let options = ["--web", "127.0.0.1:0", "--pause-at-barriers", "--scheme", "double"];
    let mut scene = Scene::of(&generated("fat-tree:4,2", 1), &options);
    let log = scene.manager.log();
    let (_, address) = log.split_once(PAGE).expect("the log says where the page is");
    let address = address.split_whitespace().next().expect("an address").to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let mut browser = Browser::start(folder.path());
    browser.open(&address);

    browser.until(&format!("{VERDICT} === 'up'"));
    browser.until("document.querySelector('#connection').textContent === 'live'");
    let drawn = |browser: &mut Browser, what: &str| {
        browser.value(&format!("document.querySelectorAll('#map {what}').length")).as_u64().expect("a number")
    };
    let fabric = &scene.topology;
    let switches = fabric.nodes().filter(|(_, node)| node.is_switch()).count() as u64;
    assert_eq!(drawn(&mut browser, "rect.switch"), switches);
    assert_eq!(drawn(&mut browser, "circle.host"), fabric.node_count() as u64 - switches);
    assert!(browser.value("document.querySelector('#events').innerText").to_string().contains("SUBNET UP"));
    browser.assert_readable_as_it_is("at-rest");

    browser.value("document.querySelector('.events').focus()");
    let root = scene.root();
    let removal = ["--remove-switch", &root, "--planned"];
    let mut ordered = scene.manager.begin(&scene.subnet, "change", &removal);
    let mut courses = Vec::new();
    let states = scene.manager.at_each_barrier(&scene.subnet, |state| {
        browser.until(&format!(
            "{VERDICT} === 'changing' && document.querySelector('#verdict').innerText.includes('{state}')"
        ));
        browser.until("document.querySelector('#verdict').innerText.includes('It is held at barrier')");
        browser.until(&format!(
            "document.querySelector('#verdict').innerText.includes('Its cause: {root} is set aside.')"
        ));
        assert_eq!(browser.value("document.querySelector('#change [aria-current]').textContent"), state);
        assert_eq!(drawn(&mut browser, "rect.aside"), 1, "the root is ordered out");
        assert_eq!(drawn(&mut browser, ".leaves"), 0, "nothing is drawn as failed");
        courses.push(["pending", "written"].map(|stage| drawn(&mut browser, &format!("rect.{stage}"))));
        if state == "installing" {
            browser.assert_readable_as_it_is("changing");
        }
    });
    assert!(states.len() > 5, "{states:?}");
    let keyboard = browser.value("document.activeElement.className");
    assert_eq!(keyboard, "events", "who reads by the keyboard stays where they are");
    assert!(courses.iter().any(|[_, written]| *written + 1 >= switches), "every switch was written to: {courses:?}");
    scene.manager.wait(&scene.subnet, COMPLETED, 1);
    let _ = ordered.child.wait();

    browser.until(&format!("{VERDICT} === 'up' && document.querySelector('#change').innerText.includes('completed')"));
    assert!(
        browser.value("document.querySelector('#change').innerText").to_string().contains("proved free of deadlock")
    );
    assert_eq!(drawn(&mut browser, "rect.aside"), 1, "what is set aside is told from what is in use");
    let verdict = browser.value("document.querySelector('#verdict').innerText").to_string();
    assert!(verdict.contains(&format!("Set aside by order: {root}.")) && !verdict.contains("Gone"), "{verdict}");
    assert_eq!(browser.value("document.querySelectorAll('#verdict .refusal').length"), 0, "nothing is red: {verdict}");
    browser.assert_readable_as_it_is("changed");
    assert_eq!(browser.complaints, Vec::<String>::new());

    scene.manager.ends();
    browser.until("document.querySelector('#connection').textContent.startsWith('no word from the manager')");
}
