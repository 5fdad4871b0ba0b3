//! Width and speed of a link, as `ibnetdiscover` prints them (`4xHDR`), and the data rate they give.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal, $number:expr;)+ } $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value in ascending order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            fn number(self) -> u64 {
                match self { $($name::$variant => $number),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $($name::$variant => $text),+ })
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<$name, String> {
                match text {
                    $($text => Ok($name::$variant),)+
                    _ => {
                        let known = [$($text),+].join(", ");
                        Err(format!(concat!("`{}` is no ", $what, ": expected one of {}"), text, known))
                    }
                }
            }
        }
    };
}

named! {
    /// PortInfo:LinkWidthActive.
    LinkWidth {
        /// One lane.
        X1 = "1x", 1;
        /// Two lanes.
        X2 = "2x", 2;
        /// Four lanes.
        #[default]
        X4 = "4x", 4;
        /// Eight lanes.
        X8 = "8x", 8;
        /// Twelve lanes.
        X12 = "12x", 12;
    }
    "link width"
}

named! {
    /// PortInfo:LinkSpeedActive and its extensions. The number is the data rate of one lane in kilobytes per second,
    /// without line coding (8b/10b up to QDR, 64b/66b from FDR10 on, with forward error correction from HDR on).
    LinkSpeed {
        /// 2.5 Gb/s signalling.
        Sdr = "SDR", 250_000;
        /// 5 Gb/s signalling.
        Ddr = "DDR", 500_000;
        /// 10 Gb/s signalling.
        #[default]
        Qdr = "QDR", 1_000_000;
        /// 10.3125 Gb/s signalling.
        Fdr10 = "FDR10", 1_250_000;
        /// 14.0625 Gb/s signalling.
        Fdr = "FDR", 1_704_545;
        /// 25.78125 Gb/s signalling.
        Edr = "EDR", 3_125_000;
        /// 53.125 Gb/s signalling.
        Hdr = "HDR", 6_250_000;
        /// 106.25 Gb/s signalling.
        Ndr = "NDR", 12_500_000;
        /// 212.5 Gb/s signalling.
        Xdr = "XDR", 25_000_000;
    }
    "link speed"
}

impl LinkWidth {
    /// The number of lanes.
    pub fn lanes(self) -> u64 {
        self.number()
    }

    /// Data rate of a link of this width at `speed`, in kilobytes (1000 bytes) per second.
    pub fn data_rate_kbps(self, speed: LinkSpeed) -> u64 {
        self.lanes() * speed.number()
    }
}
