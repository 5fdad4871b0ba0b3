//! A flat directed graph: an order in which every edge goes forward, or a shortest cycle, or every component with a
//! cycle.

/// Edge visits after which the search for a shorter cycle ends, once one is found.
const BUDGET: u64 = 500_000_000;

/// Successors of nodes 0 to n − 1, packed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// Node i's successors are `to[start[i]..start[i + 1]]`.
    start: Vec<u32>,
    to: Vec<u32>,
}

/// A cycle by its nodes, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeCycle {
    /// Each has an edge to the next, the last to the first.
    pub nodes: Vec<u32>,
    /// Whether the search for a shorter one was complete.
    pub shortest: bool,
}

impl Graph {
    /// Packs edges. `each` is called twice, and must report the same edges in the same order.
    pub fn new(nodes: usize, each: impl Fn(&mut dyn FnMut(u32, u32))) -> Graph {
        let mut start = vec![0u32; nodes + 1];
        // A counting sort: out-degrees, their prefix sums, then each edge at the next free place of its source.
        each(&mut |from, _| start[from as usize + 1] += 1);
        (0..nodes).for_each(|i| start[i + 1] += start[i]);
        let mut next = start.clone();
        let mut to = vec![0u32; start[nodes] as usize];
        each(&mut |from, target| {
            to[next[from as usize] as usize] = target;
            next[from as usize] += 1;
        });
        Graph { start, to }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.start.len() - 1
    }

    /// Returns whether it has no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A node's successors.
    pub fn successors(&self, node: u32) -> &[u32] {
        &self.to[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }

    /// Every node that has an edge, either way.
    pub fn touched(&self) -> Vec<bool> {
        let mut touched: Vec<bool> = self.start.windows(2).map(|pair| pair[0] < pair[1]).collect();
        self.to.iter().for_each(|&target| touched[target as usize] = true);
        touched
    }

    /// All nodes in an order in which every edge goes forward.
    ///
    /// # Errors
    /// A cycle, the shortest one within the budget.
    pub fn order(&self) -> Result<Vec<u32>, NodeCycle> {
        self.sorted().map_err(|waiting| self.shortest_cycle(waiting))
    }

    /// All nodes in an order in which every edge goes forward; none if there is a cycle, for which it does not search.
    pub fn order_if_any(&self) -> Option<Vec<u32>> {
        self.sorted().ok()
    }

    /// Returns whether there is no cycle, without a search for a shortest one.
    pub fn is_acyclic(&self) -> bool {
        self.sorted().is_ok()
    }

    /// The order of the nodes; if there is none, how many predecessors remain for nodes on cycles or after them.
    fn sorted(&self) -> Result<Vec<u32>, Vec<u32>> {
        let mut waiting = vec![0u32; self.len()];
        self.to.iter().for_each(|&target| waiting[target as usize] += 1);
        // Kahn's algorithm. `order` is the queue as well: what is before `next` has been processed.
        let mut order: Vec<u32> = (0..self.len() as u32).filter(|&node| waiting[node as usize] == 0).collect();
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            for &target in self.successors(node) {
                waiting[target as usize] -= 1;
                if waiting[target as usize] == 0 {
                    order.push(target);
                }
            }
        }
        if order.len() == self.len() { Ok(order) } else { Err(waiting) }
    }

    /// The strongly connected components that hold a cycle, each in rising order, in the order of their least nodes.
    pub fn components(&self) -> Vec<Vec<u32>> {
        let mut search = ComponentSearch {
            graph: self,
            number: vec![0; self.len()],
            low: vec![0; self.len()],
            next: 1,
            open: Vec::new(),
            path: Vec::new(),
            found: Vec::new(),
        };
        (0..self.len() as u32).for_each(|node| search.from(node));
        search.found.sort_unstable();
        search.found
    }

    /// The shortest cycle; `waiting` is above 0 for the nodes that lie on cycles or after them.
    fn shortest_cycle(&self, waiting: Vec<u32>) -> NodeCycle {
        let mut live: Vec<bool> = waiting.iter().map(|&count| count > 0).collect();
        let mut search = Search { parent: vec![u32::MAX; self.len()], queue: Vec::new(), visits: 0 };
        let mut best: Option<Vec<u32>> = None;
        for start in 0..self.len() as u32 {
            if !live[start as usize] {
                continue;
            }
            // Only a strictly shorter cycle is of interest, so each search ends one level earlier than the best so
            // far.
            let bound = best.as_ref().map_or(usize::MAX, |cycle| cycle.len() - 1);
            best = search.through(self, start, &live, bound).or(best);
            // No cycle through it is shorter than the best so far, so later searches need not pass it.
            live[start as usize] = false;
            let length = best.as_ref().map_or(usize::MAX, Vec::len);
            // The budget applies only once a cycle is known: a refusal always has evidence, if not always the shortest.
            if length == 1 || best.is_some() && search.visits > BUDGET {
                let shortest = length == 1;
                return NodeCycle { nodes: best.unwrap_or_default(), shortest };
            }
        }
        NodeCycle { nodes: best.expect("nodes that no order holds include a cycle"), shortest: true }
    }
}

/// Tarjan's depth-first search (1972), with an explicit path instead of recursion: a graph of lanes can be deep
/// enough to exhaust the stack.
struct ComponentSearch<'a> {
    graph: &'a Graph,
    /// By node: the order of discovery from 1; 0 before it, `u32::MAX` once its component is closed.
    number: Vec<u32>,
    /// By node: the least number known to be reachable from it.
    low: Vec<u32>,
    next: u32,
    /// Discovered, component not closed.
    open: Vec<u32>,
    /// The way to the node in hand: node, and successors tried.
    path: Vec<(u32, usize)>,
    found: Vec<Vec<u32>>,
}

impl ComponentSearch<'_> {
    fn from(&mut self, start: u32) {
        if self.number[start as usize] == 0 {
            self.discover(start);
        }
        while let Some(last) = self.path.last_mut() {
            let (node, tried) = *last;
            let Some(&target) = self.graph.successors(node).get(tried) else {
                self.leave(node);
                continue;
            };
            last.1 += 1;
            match self.number[target as usize] {
                0 => self.discover(target),
                // A closed component cannot reach the path again, or it would be part of this one.
                u32::MAX => {}
                number => self.low[node as usize] = self.low[node as usize].min(number),
            }
        }
    }

    fn discover(&mut self, node: u32) {
        (self.number[node as usize], self.low[node as usize]) = (self.next, self.next);
        self.next += 1;
        self.open.push(node);
        self.path.push((node, 0));
    }

    fn leave(&mut self, node: u32) {
        self.path.pop();
        let low = self.low[node as usize];
        if let Some(&(before, _)) = self.path.last() {
            self.low[before as usize] = self.low[before as usize].min(low);
        }
        if low == self.number[node as usize] {
            self.close(node);
        }
    }

    /// `node` is the first discovered of its component, which is all that was opened since.
    fn close(&mut self, node: u32) {
        let first = self.open.iter().rposition(|&open| open == node).unwrap_or(0);
        let mut component = self.open.split_off(first);
        component.iter().for_each(|&member| self.number[member as usize] = u32::MAX);
        // A single node is a cycle only by an edge to itself.
        if component.len() > 1 || self.graph.successors(node).contains(&node) {
            component.sort_unstable();
            self.found.push(component);
        }
    }
}

/// Breadth-first search for the way back to its start.
struct Search {
    /// By node: where it was reached from; `u32::MAX` where it was not.
    parent: Vec<u32>,
    queue: Vec<u32>,
    visits: u64,
}

impl Search {
    /// The shortest cycle through `start` among live nodes, of at most `bound` nodes.
    fn through(&mut self, graph: &Graph, start: u32, live: &[bool], bound: usize) -> Option<Vec<u32>> {
        self.queue.clear();
        self.queue.push(start);
        let found = self.spread(graph, start, live, bound);
        let cycle = found.map(|last| self.path(start, last));
        // Only queued nodes have a parent, so the reset costs what the search did, not the size of the graph.
        self.queue.iter().for_each(|&node| self.parent[node as usize] = u32::MAX);
        cycle
    }

    /// The last node of a shortest cycle through `start`.
    fn spread(&mut self, graph: &Graph, start: u32, live: &[bool], bound: usize) -> Option<u32> {
        let (mut next, mut depth, mut level_end) = (0, 1, 1);
        while next < self.queue.len() {
            if next == level_end {
                (depth, level_end) = (depth + 1, self.queue.len());
            }
            // A cycle that closes from this level has `depth` nodes.
            if depth > bound {
                return None;
            }
            let node = self.queue[next];
            next += 1;
            self.visits += graph.successors(node).len() as u64;
            for &target in graph.successors(node) {
                if target == start {
                    return Some(node);
                }
                if live[target as usize] && self.parent[target as usize] == u32::MAX {
                    self.parent[target as usize] = node;
                    self.queue.push(target);
                }
            }
        }
        None
    }

    fn path(&self, start: u32, last: u32) -> Vec<u32> {
        let mut nodes = vec![last];
        while nodes[nodes.len() - 1] != start {
            nodes.push(self.parent[nodes[nodes.len() - 1] as usize]);
        }
        nodes.reverse();
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use petgraph::algo::{is_cyclic_directed, tarjan_scc};
    use petgraph::graph::DiGraph;
    use proptest::prelude::*;

    fn graph_of(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        Graph::new(nodes, |emit| edges.iter().for_each(|&(from, to)| emit(from, to)))
    }

    /// Length of the shortest cycle, by matrix of distances.
    fn girth(nodes: usize, edges: &[(u32, u32)]) -> Option<usize> {
        let mut hops = vec![vec![usize::MAX / 2; nodes]; nodes];
        edges.iter().for_each(|&(from, to)| hops[from as usize][to as usize] = 1);
        for via in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    hops[from][to] = hops[from][to].min(hops[from][via] + hops[via][to]);
                }
            }
        }
        (0..nodes).map(|node| hops[node][node]).min().filter(|&hops| hops < usize::MAX / 2)
    }

    fn cyclic_components(graph: &DiGraph<(), (), u32>) -> Vec<Vec<u32>> {
        let parts = tarjan_scc(graph).into_iter();
        let tied = parts.filter(|part| part.len() > 1 || graph.contains_edge(part[0], part[0]));
        let mut found: Vec<Vec<u32>> = tied.map(|part| part.iter().map(|node| node.index() as u32).collect()).collect();
        found.iter_mut().for_each(|part| part.sort_unstable());
        found.sort_unstable();
        found
    }

    proptest! {
        #[test]
        fn agrees_with_petgraph(edges in prop::collection::vec((0u32..24, 0u32..24), 0..60)) {
            let graph = graph_of(24, &edges);
            let oracle = DiGraph::<(), (), u32>::from_edges(&edges);
            prop_assert_eq!(graph.components(), cyclic_components(&oracle));
            match graph.order() {
                Ok(order) => {
                    prop_assert!(!is_cyclic_directed(&oracle));
                    let mut number = [0; 24];
                    order.iter().enumerate().for_each(|(i, &node)| number[node as usize] = i);
                    prop_assert!(edges.iter().all(|&(from, to)| number[from as usize] < number[to as usize]));
                }
                Err(cycle) => {
                    prop_assert!(is_cyclic_directed(&oracle) && cycle.shortest);
                    let next = cycle.nodes.iter().cycle().skip(1);
                    prop_assert!(cycle.nodes.iter().zip(next).all(|(&from, &to)| edges.contains(&(from, to))));
                    prop_assert_eq!(Some(cycle.nodes.len()), girth(24, &edges));
                    let component = tarjan_scc(&oracle).into_iter()
                        .find(|part| part.iter().any(|node| node.index() == cycle.nodes[0] as usize)).unwrap();
                    prop_assert!(cycle.nodes.iter().all(|&node| component.iter().any(|n| n.index() == node as usize)));
                }
            }
        }
    }
}
