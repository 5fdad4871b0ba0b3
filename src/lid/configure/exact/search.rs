//! Branch and bound over a connected component: always the class with fewest free colours (Brélaz), each colour in
//! turn, and only one unused colour, since those are interchangeable.

use crate::lid::Splits;

/// Whether a number of colours suffices.
pub(super) enum ColouringResult {
    /// By class: its colour.
    Colouring(Vec<usize>),
    /// There is none.
    Nothing,
    /// The steps ran out.
    Unknown,
}

const NONE: usize = usize::MAX;

/// A colouring of the classes of `part`, in their order.
pub(super) fn colour(
    splits: &Splits,
    part: &[usize],
    colours: usize,
    clique: &[usize],
    steps: &mut u64,
) -> ColouringResult {
    let mut rank = vec![NONE; splits.len()];
    part.iter().enumerate().for_each(|(at, &class)| rank[class] = at);
    let partners = |&class: &usize| splits.apart(class).ones().map(|other| rank[other]).filter(|&at| at != NONE);
    let partners: Vec<Vec<usize>> = part.iter().map(|class| partners(class).collect()).collect();
    let fixed: Vec<usize> = clique.iter().map(|&class| rank[class]).filter(|&at| at != NONE).collect();
    if fixed.len() > colours {
        return ColouringResult::Nothing;
    }
    let mut search = Search::new(partners, colours);
    // The classes of a clique have different colours in every colouring, and colours are interchangeable: fixing
    // theirs loses none and leaves fewer to try.
    fixed.iter().enumerate().for_each(|(colour, &at)| search.give(at, colour));
    match search.extend(fixed.len(), steps) {
        Some(true) => ColouringResult::Colouring(search.of),
        Some(false) => ColouringResult::Nothing,
        None => ColouringResult::Unknown,
    }
}

struct Search {
    partners: Vec<Vec<usize>>,
    colours: usize,
    /// By class: its colour, or [`NONE`].
    of: Vec<usize>,
    /// By class and colour: the number of partners with that colour.
    barred: Vec<u32>,
    /// By class: the number of colours among its partners.
    saturation: Vec<usize>,
}

impl Search {
    fn new(partners: Vec<Vec<usize>>, colours: usize) -> Search {
        let size = partners.len();
        let (of, barred, saturation) = (vec![NONE; size], vec![0; size * colours], vec![0; size]);
        Search { partners, colours, of, barred, saturation }
    }

    /// Returns whether the uncoloured classes can be coloured, with `used` colours in use; none if the steps run out.
    fn extend(&mut self, used: usize, steps: &mut u64) -> Option<bool> {
        let open = (0..self.of.len()).filter(|&at| self.of[at] == NONE);
        let Some(at) = open.max_by_key(|&at| (self.saturation[at], self.partners[at].len())) else { return Some(true) };
        // Unused colours are interchangeable, so one of them stands for all.
        for colour in 0..self.colours.min(used + 1) {
            if self.barred[at * self.colours + colour] > 0 {
                continue;
            }
            *steps = steps.checked_sub(1)?;
            self.give(at, colour);
            if self.extend(used.max(colour + 1), steps)? {
                return Some(true);
            }
            self.take(at, colour);
        }
        Some(false)
    }

    fn give(&mut self, at: usize, colour: usize) {
        self.of[at] = colour;
        for &other in &self.partners[at] {
            let barred = &mut self.barred[other * self.colours + colour];
            self.saturation[other] += usize::from(*barred == 0);
            *barred += 1;
        }
    }

    fn take(&mut self, at: usize, colour: usize) {
        self.of[at] = NONE;
        for &other in &self.partners[at] {
            let barred = &mut self.barred[other * self.colours + colour];
            *barred -= 1;
            self.saturation[other] -= usize::from(*barred == 0);
        }
    }
}
