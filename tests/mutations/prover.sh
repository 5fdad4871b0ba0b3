#!/usr/bin/env bash
# Breaks the prover itself, one line at a time, in a copy of the working tree, and reports which test fails first. Each row of
# the list is: name | file | text to be replaced, which must be there | what it becomes. Prints the table of docs/MUTATIONS.md,
# "The prover itself". Slow: every row builds the library anew.
#
#   tests/mutations/prover.sh [FIRST [LAST]]      rows to try, counted from 1; all by default
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

rows=(
    'what stands in lanes is forgotten at every barrier|walk.rs|*lanes &= if net.exists(now.stage, channel as usize) { left } else { 0 };|*lanes &= if net.exists(now.stage, channel as usize) { left & 0 } else { 0 };'
    'what was latched before a wave is forgotten|dependencies.rs|self.masks[slot] \|= before.masks[slot] & !empty;|self.masks[slot] \|= before.masks[slot] & !empty & 0;'
    'new forwarding entries are not mixed in|walk.rs|(old != new).then_some(new)|(old != new && false).then_some(new)'
    'old forwarding entries are not mixed in|walk.rs|std::iter::once(old)|std::iter::once(new)'
    'new SL-to-VL tables are not mixed in, where inputs are alike|tables.rs|lanes.push_uniform(groups.iter().map(\|group\| mixed(&old, &new, group)))|{ let _ = new; lanes.push_uniform(groups.iter().map(\|group\| mixed(&old, &old, group))) }'
    'new SL-to-VL tables are not mixed in, pair by pair|tables.rs|mixed(old.get(input, output), new.get(input, output), &groups[group])|mixed(old.get(input, output), old.get(input, output), &groups[group])'
    'packets in send queues are forgotten at every barrier|injection.rs|let stays = stage > 0|let stays = stage > usize::MAX - 1'
    'every hole is forgiven|proof_walk.rs|(!(case.stranded[owner.index()] \|\| dead)).then_some(found)|(!(case.stranded[owner.index()] \|\| dead \|\| true)).then_some(found)'
    'wrong arrivals are not noticed|proof_walk.rs|DeadEnd::Wrong { at } => FaultKind::WrongArrival { at, owner: class.owner },|DeadEnd::Wrong { at } if at == class.owner => FaultKind::WrongArrival { at, owner: class.owner }, DeadEnd::Wrong { .. } => return,'
    'the upper half is not looked at|prover.rs|all.unite(&halves[1][stage]);|'
    'only the first wave is judged|prover.rs|for stage in 0..sound {|for stage in 0..sound.min(2) {'
    'every graph has an order|graph.rs|if order.len() == self.len() { Ok(order) }|if order.len() <= self.len() { Ok(order) }'
    'dependencies of injection channels are left out|collector.rs|own.add(self.layout, row, source.input, from, output, to);|own.add(self.layout, row, source.input, from & 0, output, to);'
    'a half that is gone need not have stood in empty lanes|prover.rs|check_gone(case, &layout, &halves, stage)?;|'
    'steps that a drain omits are not looked for|prover.rs|drained::check(&proof_walk, &layout, &halves, stage)?;|'
    'packets that are gone stay|proof_walk.rs|if facts.gone[self.proof_walk.half(now.class).index()] { 0 } else { !facts.empty.0 }|!facts.empty.0'
    'barriers in disorder are taken|prover.rs|= transition.disorder() {|= transition.disorder().filter(\|_\| false) {'
    'newcomers take part from the first|case.rs|!self.newcomer[port.index()] \|\| stage >= self.joining_stage && half == self.joining_half|!self.newcomer[port.index()] \|\| stage >= self.joining_stage && half == self.joining_half \|\| true'
    'waves need not begin as the last one ended|prover.rs|check_sequence(fabric, &waves)?;|'
)

# Cheapest first; the first that fails has caught the row.
tests=('--test suite verify::' '--test library verify' '--test suite plan::plans::' '--test suite driver::growth::' '--test suite forged::drained::' '--test suite simulate::ghost_cycle::' '--test suite mutations::')

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C "$scratch"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} CARGO_INCREMENTAL=1

# Our own code unoptimised, since it is built anew for every row; what it depends on as it is.
quick=(--config 'profile.release.package.reconfig.opt-level=0')

caught_by() {
    local test
    for test in "${tests[@]}"; do
        # A row that does not compile proves nothing.
        # shellcheck disable=SC2086 # Each entry is several words.
        (cd "$scratch" && cargo "${quick[@]}" test --no-run --quiet --release $test >"$scratch/log" 2>&1) || { echo "DOES NOT BUILD"; return; }
        # shellcheck disable=SC2086
        if ! (cd "$scratch" && timeout 900 cargo "${quick[@]}" test --quiet --release $test >"$scratch/log" 2>&1); then
            echo "\`$test\`"
            return
        fi
    done
    echo "**nobody**"
}

first=${1:-1} last=${2:-${#rows[@]}}
echo "| mutation | first test to fail |"
echo "|---|---|"
for ((at = first - 1; at < last; at++)); do
    row=${rows[at]//\\|/$'\x01'}
    IFS='|' read -r name file from to <<<"$row"
    from=${from//$'\x01'/|} to=${to//$'\x01'/|}
    path=$scratch/src/verify/$file
    cp "$path" "$scratch/kept"
    FROM=$from TO=$to perl -0pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$path"
    if cmp -s "$path" "$scratch/kept"; then
        echo "| $name | NOT APPLIED: $file has changed |"
        continue
    fi
    echo "| $name | $(caught_by) |"
    cp "$scratch/kept" "$path"
done
