//! List files: what is written is read, and every fault is told at its place.

use super::made;
use proptest::prelude::*;
use reconfig::fabric::format::{Format, WriteError};
use reconfig::fabric::generate::JoinShape;
use reconfig::fabric::subnets::{Subnets, list};
use reconfig::ids::GidPrefix;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Files in memory, as the reader opens them.
struct Files(BTreeMap<PathBuf, String>);

impl Files {
    fn of(subnets: &Subnets, format: Format) -> Files {
        let files = list::write(subnets, "all", format).expect("a format that is read");
        Files(files.into_iter().map(|(name, text)| (Path::new("folder").join(name), text)).collect())
    }

    fn open(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.0.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| Error::from(ErrorKind::NotFound))
    }

    fn read(&self) -> Subnets {
        let text = &self.0[Path::new("folder/all.subnets.yaml")];
        list::read(text.as_bytes(), "folder/all.subnets.yaml", |path| self.open(path))
            .unwrap_or_else(|error| panic!("{}", error.render(false)))
    }
}

const TOPOLOGIES: [&str; 4] = ["fat-tree:2,2", "ring:3,0", "random-regular:6,3,1", "waxman:5,0.7,0.5,~3"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(
        topology in proptest::sample::select(&TOPOLOGIES[..]),
        subnets in 3u16..5,
        shape in proptest::sample::select(&JoinShape::ALL[..]),
        routers in 1u16..4,
        seed: u64,
        json: bool,
    ) {
        let subnets = made(topology, subnets, shape, routers, seed);
        let format = if json { Format::Json } else { Format::Ibnetdiscover };
        prop_assert_eq!(Files::of(&subnets, format).read(), subnets);
    }
}
