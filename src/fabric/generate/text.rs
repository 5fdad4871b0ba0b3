//! Topologies as text: `family:parameters`, read and written.

use super::{
    Dragonfly, GeneralTree, GenerateError, Grid, HostPlacement, Hypercube, Irregular, RandomRegular, Topology, Waxman,
};
use std::fmt;
use std::str::FromStr;

/// A family of topologies, as the help text lists it.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// What stands before the colon.
    pub name: &'static str,
    /// The whole form; brackets mark optional parameters.
    pub form: &'static str,
    /// A one-line description.
    pub about: &'static str,
}

/// Every family, in the order of the numbers in the GUIDs (from 1).
pub const FAMILIES: &[Family] = &[
    Family { name: "fat-tree", form: "fat-tree:K,N", about: "k-ary n-tree: K^N hosts, N levels of K^(N-1) switches" },
    Family {
        name: "leaf-spine",
        form: "leaf-spine:LEAVES,SPINES,HOSTS[,TRUNK]",
        about: "two-level fat tree, HOSTS on a leaf, TRUNK parallel links to each spine",
    },
    Family {
        name: "three-level",
        form: "three-level:PODS,LEAVES,SPINES,CORES,HOSTS[,TRUNK]",
        about: "pods of LEAVES and SPINES, CORES above each spine, HOSTS on a leaf",
    },
    Family {
        name: "tree",
        form: "tree:CHILDREN,../PARENTS,..[/TRUNKS,..]",
        about: "any fat tree: per level, from the hosts up",
    },
    Family { name: "mesh", form: "mesh:AxBx..[,HOSTS]", about: "grid of any dimension, HOSTS on a switch" },
    Family { name: "torus", form: "torus:AxBx..[,HOSTS]", about: "grid with wrap-around links" },
    Family { name: "ring", form: "ring:SWITCHES[,HOSTS]", about: "one cycle of switches" },
    Family { name: "hypercube", form: "hypercube:DIMENSIONS[,HOSTS]", about: "binary cube" },
    Family {
        name: "dragonfly",
        form: "dragonfly:P,A,H",
        about: "P hosts and H global links a router, A routers a group, A*H+1 groups",
    },
    Family {
        name: "random-regular",
        form: "random-regular:SWITCHES,DEGREE[,HOSTS]",
        about: "random connected graph of equal degrees (seeded)",
    },
    Family {
        name: "waxman",
        form: "waxman:SWITCHES,ALPHA,BETA[,HOSTS]",
        about: "random points in a square, near ones joined more often; ~HOSTS are scattered (seeded)",
    },
    Family {
        name: "irregular",
        form: "irregular:SWITCHES,RADIX,HOSTS,LINKS",
        about: "random connected graph with these counts, HOSTS in all (seeded)",
    },
];

/// The names of all families, for error messages.
pub(super) fn family_names() -> String {
    FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(", ")
}

impl Topology {
    /// The number of its family in generated GUIDs.
    pub(super) fn family_number(&self) -> u8 {
        match self {
            Topology::KaryTree { .. } => 1,
            Topology::LeafSpine { .. } => 2,
            Topology::ThreeLevel { .. } => 3,
            Topology::GeneralTree(_) => 4,
            Topology::Mesh(_) => 5,
            Topology::Torus(_) => 6,
            Topology::Ring { .. } => 7,
            Topology::Hypercube(_) => 8,
            Topology::Dragonfly(_) => 9,
            Topology::RandomRegular(_) => 10,
            Topology::Waxman(_) => 11,
            Topology::Irregular(_) => 12,
        }
    }
}

/// Why a family's parameters cannot be parsed.
type Fault = String;

impl FromStr for Topology {
    type Err = GenerateError;

    fn from_str(text: &str) -> Result<Topology, GenerateError> {
        let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
        let family = FAMILIES
            .iter()
            .find(|family| family.name == name)
            .ok_or_else(|| GenerateError::UnknownFamily { name: name.to_string() })?;
        parse(name, parameters).map_err(|why| GenerateError::Syntax { text: text.to_string(), why, form: family.form })
    }
}

fn parse(family: &str, text: &str) -> Result<Topology, Fault> {
    Ok(match family {
        "fat-tree" => {
            let [arity, levels] = numbers(text)?;
            Topology::KaryTree { arity, levels }
        }
        "leaf-spine" => {
            let [leaves, spines, hosts, trunk] = numbers_or(text, 1)?;
            Topology::LeafSpine { leaves, spines, hosts, trunk }
        }
        "three-level" => {
            let [pods, leaves, spines, cores, hosts, trunk] = numbers_or(text, 1)?;
            Topology::ThreeLevel { pods, leaves, spines, cores, hosts, trunk }
        }
        "tree" => Topology::GeneralTree(general_tree(text)?),
        "mesh" => Topology::Mesh(grid(text)?),
        "torus" => Topology::Torus(grid(text)?),
        "ring" => {
            let [switches, hosts] = numbers_or(text, 1)?;
            Topology::Ring { switches, hosts }
        }
        "hypercube" => {
            let [dimensions, hosts] = numbers_or(text, 1)?;
            Topology::Hypercube(Hypercube { dimensions, hosts })
        }
        "dragonfly" => {
            let [hosts, routers, globals] = numbers(text)?;
            Topology::Dragonfly(Dragonfly { hosts, routers, globals })
        }
        "random-regular" => {
            let [switches, degree, hosts] = numbers_or(text, 1)?;
            Topology::RandomRegular(RandomRegular { switches, degree, hosts })
        }
        "waxman" => Topology::Waxman(waxman(text)?),
        "irregular" => {
            let [switches, radix, hosts, links] = numbers(text)?;
            Topology::Irregular(Irregular { switches, radix, hosts, links })
        }
        other => return Err(format!("`{other}` is listed as a family but cannot be read")),
    })
}

fn number<T: FromStr>(text: &str) -> Result<T, Fault> {
    text.parse().map_err(|_| match text {
        "" => "a number is missing".to_string(),
        _ => format!("`{text}` is not a number that fits here"),
    })
}

/// Numbers between separators.
fn list(text: &str, separator: char) -> Result<Vec<u32>, Fault> {
    text.split(separator).map(number).collect()
}

/// Exactly `N` numbers.
fn numbers<const N: usize>(text: &str) -> Result<[u32; N], Fault> {
    let given = list(text, ',')?;
    let count = given.len();
    given.try_into().map_err(|_| format!("{count} given where {N} numbers are meant"))
}

/// `N` numbers, of which the last is optional.
fn numbers_or<const N: usize>(text: &str, last: u32) -> Result<[u32; N], Fault> {
    let mut given = list(text, ',')?;
    let count = given.len();
    if count + 1 == N {
        given.push(last);
    }
    given.try_into().map_err(|_| format!("{count} given where {} or {N} numbers are meant", N - 1))
}

fn grid(text: &str) -> Result<Grid, Fault> {
    let (sides, hosts) = match text.split_once(',') {
        Some((sides, hosts)) => (sides, number(hosts)?),
        None => (text, 1),
    };
    Ok(Grid { sides: list(sides, 'x')?, hosts })
}

fn general_tree(text: &str) -> Result<GeneralTree, Fault> {
    let lists = text.split('/').map(|part| list(part, ',')).collect::<Result<Vec<_>, _>>()?;
    let count = lists.len();
    let mut lists = lists.into_iter();
    match (lists.next(), lists.next(), lists.next(), lists.next()) {
        (Some(children), Some(parents), trunks, None) => {
            let trunks = trunks.unwrap_or_else(|| vec![1; children.len()]);
            Ok(GeneralTree { children, parents, trunks })
        }
        _ => Err(format!("{count} lists between slashes given where 2 or 3 are meant")),
    }
}

fn waxman(text: &str) -> Result<Waxman, Fault> {
    let parts: Vec<&str> = text.split(',').collect();
    let (switches, alpha, beta, hosts) = match parts[..] {
        [switches, alpha, beta] => (switches, alpha, beta, "1"),
        [switches, alpha, beta, hosts] => (switches, alpha, beta, hosts),
        _ => return Err(format!("{} given where 3 or 4 numbers are meant", parts.len())),
    };
    let hosts = match hosts.strip_prefix('~') {
        Some(all) => HostPlacement::Scattered(number(all)?),
        None => HostPlacement::Each(number(hosts)?),
    };
    Ok(Waxman { switches: number(switches)?, alpha: number(alpha)?, beta: number(beta)?, hosts })
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", FAMILIES[usize::from(self.family_number()) - 1].name)?;
        match self {
            Topology::KaryTree { arity, levels } => write!(f, "{arity},{levels}"),
            Topology::LeafSpine { leaves, spines, hosts, trunk } => write!(f, "{leaves},{spines},{hosts},{trunk}"),
            Topology::ThreeLevel { pods, leaves, spines, cores, hosts, trunk } => {
                write!(f, "{pods},{leaves},{spines},{cores},{hosts},{trunk}")
            }
            Topology::GeneralTree(tree) => {
                let lists = [&tree.children, &tree.parents, &tree.trunks];
                f.write_str(&lists.map(|list| join(list, ",")).join("/"))
            }
            Topology::Mesh(grid) | Topology::Torus(grid) => write!(f, "{},{}", join(&grid.sides, "x"), grid.hosts),
            Topology::Ring { switches, hosts } => write!(f, "{switches},{hosts}"),
            Topology::Hypercube(cube) => write!(f, "{},{}", cube.dimensions, cube.hosts),
            Topology::Dragonfly(fly) => write!(f, "{},{},{}", fly.hosts, fly.routers, fly.globals),
            Topology::RandomRegular(graph) => write!(f, "{},{},{}", graph.switches, graph.degree, graph.hosts),
            Topology::Waxman(graph) => {
                let (mark, hosts) = match graph.hosts {
                    HostPlacement::Each(hosts) => ("", hosts),
                    HostPlacement::Scattered(hosts) => ("~", hosts),
                };
                write!(f, "{},{},{},{mark}{hosts}", graph.switches, graph.alpha, graph.beta)
            }
            Topology::Irregular(graph) => {
                write!(f, "{},{},{},{}", graph.switches, graph.radix, graph.hosts, graph.links)
            }
        }
    }
}

fn join(numbers: &[u32], separator: &str) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_reads_what_it_writes() {
        let texts = [
            "fat-tree:4,2",
            "leaf-spine:8,4,4,2",
            "three-level:3,4,2,2,3,2",
            "tree:4,8/1,4/1,2",
            "mesh:4x4x2,3",
            "torus:4x4,1",
            "ring:8,0",
            "hypercube:4,2",
            "dragonfly:2,4,2",
            "random-regular:16,4,2",
            "waxman:24,0.5,0.3,2",
            "irregular:16,4,14,23",
        ];
        assert_eq!(texts.len(), FAMILIES.len());
        for (text, family) in texts.iter().zip(FAMILIES) {
            let topology: Topology = text.parse().unwrap();
            assert_eq!(topology.to_string(), *text);
            assert!(text.starts_with(&format!("{}:", family.name)), "{text} is not at the place of {}", family.name);
        }
    }

    #[test]
    fn what_may_be_left_out_is_one() {
        for (short, long) in [
            ("leaf-spine:8,4,4", "leaf-spine:8,4,4,1"),
            ("mesh:4x4", "mesh:4x4,1"),
            ("ring:8", "ring:8,1"),
            ("tree:4,8/1,4", "tree:4,8/1,4/1,1"),
            ("waxman:24,0.5,0.3", "waxman:24,0.5,0.3,1"),
            ("waxman:24,0.5,0.3,~40", "waxman:24,0.5,0.3,~40"),
        ] {
            assert_eq!(short.parse::<Topology>().unwrap().to_string(), long);
        }
    }

    #[test]
    fn faults_name_what_is_wrong_and_what_is_meant() {
        for (text, part) in [
            ("star:4", "`star` is no topology: choose one of fat-tree, leaf-spine"),
            ("fat-tree", "a number is missing; expected `fat-tree:K,N`"),
            ("fat-tree:4", "1 given where 2 numbers are meant"),
            ("fat-tree:4,x", "`x` is not a number"),
            ("mesh:4x,1", "a number is missing"),
            ("ring:1,2,3", "3 given where 1 or 2 numbers are meant"),
            ("tree:1", "1 lists between slashes given where 2 or 3 are meant"),
            ("dragonfly:2,4,99999999999", "`99999999999` is not a number that fits here"),
            ("waxman:1", "1 given where 3 or 4 numbers are meant"),
        ] {
            let fault = text.parse::<Topology>().unwrap_err().to_string();
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }
}
