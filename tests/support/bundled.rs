//! Bundled fabrics by name.

use reconfig::fabric::Fabric;
use reconfig::fabric::generate::BUNDLED;

/// The bundled fabric of this name.
pub fn bundled(name: &str) -> Fabric {
    let fabric = BUNDLED.iter().find(|bundled| bundled.name == name);
    fabric.unwrap_or_else(|| panic!("no bundled fabric {name}")).generate().expect("bundled fabrics can be generated")
}
