#!/bin/bash
# Measures on this machine what the simulated machine predicts: latencies, the programs of cases/, and the twins of published
# programs, with both layouts by number of threads. It takes at most eight minutes, and needs bash, awk and the usual small
# tools; nothing is installed, and nothing is sent.
#
#   scripts/real-cores.sh --pack KIT                  makes a folder to carry along: programs without libraries, and this script
#   KIT/real-cores.sh [--seconds S] [--limit S] OUT   measures, and writes OUT/result.json and OUT/result.md
#
#   --seconds S   length of one start of a program [0.4]
#   --limit S     no further start after so many seconds [450]
#
# In a checkout, the programs are built first. A round starts every program with both layouts, one after the other; there are
# three rounds, or as many as the limit leaves time for.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
summary=$here/real-cores.awk
[ -e "$summary" ] || summary=$here/lib/real-cores.awk
ROUNDS=3
TRIES=3
# Exit code of a program that another one disturbed.
DISTURBED=3

# Program, options, layout that stands against `bad`, and what its threads do: all the same, or the first something else.
POINTS='
pcpu_chunk||good|roles
pcpu_chunk|--work 100|good|roles
optimistic_spin_node||good|roles
optimistic_spin_node||checked|roles
mm_struct|--mix roles|good|roles
mm_struct|--mix xadd|good|roles
mm_struct|--mix both|good|same
mem_cgroup|--mix roles|good|roles
mem_cgroup|--mix both|good|same
call_single_data|--mix queue|good|same
call_single_data|--mix handshake|good|same
memory_cache||good|same
memory_cache|--mix unsized|good|same
profile_events|--work 2000|good|same
spsc_ring||good|one-pair
tokio_mpsc|--mix bounded|good|unpinned
tokio_mpsc|--mix full|good|unpinned
tokio_mpsc|--mix unbounded|good|unpinned
'

fail() {
    echo "real-cores.sh: $2" >&2
    exit "$1"
}

# --- making the kit ---

# build_programs FOLDER: the programs of cases/ and the twins, which run where no library is.
build_programs() {
    command -v cc >/dev/null || fail 3 "no C compiler: make a kit with --pack on another machine"
    make -s -C "$root/cases" "OUT=$1" "CFLAGS=-O2 -g -static"
    make -s -C "$root/benches/twins" "OUT=$1" "CFLAGS=-O2 -g -static"
    { command -v cargo >/dev/null && make -s -C "$root/benches/twins" "OUT=$1" tokio; } ||
        echo "real-cores.sh: without tokio_mpsc, which needs cargo and crates.io" >&2
}

pack() {
    local kit=$1
    [ ! -e "$kit" ] || fail 2 "$kit is there already; give another name, or remove it"
    mkdir -p "$kit/programs"
    kit=$(cd "$kit" && pwd)
    build_programs "$kit/programs"
    rm -rf "$kit/programs/cargo"
    cp "$root/target/release/relayout" "$kit/" 2>/dev/null ||
        echo "real-cores.sh: without \`relayout probe\`: target/release/relayout is not built" >&2
    cp "${BASH_SOURCE[0]}" "$summary" "$kit/"
    echo "$kit: copy it to the machine, and run $(basename "$kit")/real-cores.sh OUT there"
}

# --- the machine ---

read_first() {
    local text=
    read -r text 2>/dev/null <"$1" || true
    echo "$text"
}

# CPUs that this process may use, core by core: first one thread of each core, by package and cache, then the others.
# Prints CPU, thread of the core, package, last-level cache, core.
list_cpus() {
    local cpu at siblings cache
    for cpu in $(allowed_cpus); do
        at=/sys/devices/system/cpu/cpu$cpu
        siblings=$(expand "$(read_first "$at/topology/thread_siblings_list")")
        cache=0
        for index in "$at"/cache/index*; do
            [ ! -e "$index/id" ] || cache=$(read_first "$index/id")
        done
        echo "$cpu $(awk -v cpu="$cpu" '{ for (i = 1; i <= NF; i++) if ($i == cpu) print i - 1 }' <<<"$siblings") \
$(read_first "$at/topology/physical_package_id") $cache $(read_first "$at/topology/core_id")"
    done | sort -k2,2n -k3,3n -k4,4n -k5,5n -k1,1n
}

# expand LIST: 0,2-4 as 0 2 3 4.
expand() {
    awk -v list="$1" 'BEGIN {
        count = split(list, parts, ",")
        for (i = 1; i <= count; i++) {
            ends = split(parts[i], range, "-")
            for (n = range[1]; n <= range[ends]; n++) printf "%s%d", seen++ ? " " : "", n
        }
    }'
}

allowed_cpus() {
    expand "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' /proc/self/status)"
}

cpuinfo() {
    awk -F '[\t ]*: ' -v name="$1" '$1 == name { print $2; exit }' /proc/cpuinfo
}

json_text() {
    printf '"%s": "%s"' "$1" "$2"
}

describe_machine() {
    local model
    model=$(cpuinfo 'model name')
    [ -n "$model" ] ||
        model="implementer $(cpuinfo 'CPU implementer') part $(cpuinfo 'CPU part') variant $(cpuinfo 'CPU variant')"
    virtual=false
    ! grep -q '^flags.* hypervisor' /proc/cpuinfo || virtual=true
    cpu_count=$(wc -l <"$work/cpus")
    core_count=$(awk '$2 == 0' "$work/cpus" | wc -l)
    cache_count=$(awk '{ print $3, $4 }' "$work/cpus" | sort -u | wc -l)
    package_count=$(awk '{ print $3 }' "$work/cpus" | sort -u | wc -l)
    machine_json="{$(json_text processor "$model"), $(json_text family "$(cpuinfo 'cpu family')"), \
$(json_text model "$(cpuinfo model)"), $(json_text stepping "$(cpuinfo stepping)"), \
$(json_text microcode "$(cpuinfo microcode)"), $(json_text kernel "$(uname -srm)"), \
$(json_text governor "$(read_first /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor)"), \
\"virtual\": $virtual, \"cpus\": $cpu_count, \"cores\": $core_count, \
\"last_level_caches\": $cache_count, \"packages\": $package_count, \"cpu_order\": [$(cpu_order "$cpu_count")]}"
    machine_text="$model, $cpu_count CPUs: $core_count cores, $cache_count last-level caches, $package_count packages; \
$(uname -srm)$([ "$virtual" = false ] || echo ', a virtual machine')"
}

# cpu_order N: the first N CPUs, with commas.
cpu_order() {
    head -n "$1" "$work/cpus" | awk '{ printf "%s%s", (NR > 1 ? "," : ""), $1 }'
}

# Numbers of threads: powers of two and all CPUs; those of the published curve are among them.
thread_counts() {
    awk -v cpus="$cpu_count" 'BEGIN { for (n = 1; n < cpus; n *= 2) print n; print cpus }'
}

# --- measuring ---

measure_latencies() {
    local relayout=$here/relayout
    [ -x "$relayout" ] || relayout=$root/target/release/relayout
    if ! "$relayout" --version >/dev/null 2>&1; then
        echo "latencies: not measured, no \`relayout\` that runs here" | tee -a "$work/notes"
        return
    fi
    echo "latencies (relayout probe)"
    "$relayout" probe -o "$out/probe.json" >"$out/probe.txt" 2>&1 ||
        echo "latencies: \`relayout probe\` ended with $?; see probe.txt" | tee -a "$work/notes"
    if "$relayout" probe --help | grep -q -e '--contend'; then
        echo "contention (relayout probe --contend)"
        "$relayout" probe --contend -o "$out/contend.json" >"$out/contend.txt" 2>&1 ||
            echo "contention: \`relayout probe --contend\` ended with $?; see contend.txt" | tee -a "$work/notes"
    else
        echo "contention: not measured, this relayout has no \`probe --contend\`" >>"$work/notes"
    fi
}

# start PROGRAM OPTIONS LAYOUT ROLES THREADS ROUND: one start, as a line of JSON.
start() {
    local words=("$programs/$1-$3" --json --seconds "$seconds") cpus=null code=0 try
    # shellcheck disable=SC2206 # options are words
    words+=($2)
    if [ "$4" != unpinned ]; then
        cpus="[$(cpu_order "$5")]"
        words+=(--fifo --threads "$5" --cpus "$(cpu_order "$5")")
    fi
    for ((try = 1; try <= TRIES; try++)); do
        code=0
        "${words[@]}" >"$work/said" 2>"$work/error" || code=$?
        [ "$code" -eq "$DISTURBED" ] || break
    done
    [ "$code" -eq 0 ] || echo null >"$work/said"
    printf '{"program": "%s", "options": "%s", "layout": "%s", "threads": %d, "round": %d, "cpus": %s, "exit_code": %d, "result": %s}\n' \
        "$1" "$2" "$3" "$5" "$6" "$cpus" "$code" "$(cat "$work/said")" >>"$work/starts"
    [ "$code" -eq 0 ] || [ "$code" -eq "$DISTURBED" ] || fail 1 "$1-$3 $2: $(cat "$work/error")"
}

# The numbers of threads that a point is measured with.
counts_of() {
    case $1 in
    one-pair) [ "$cpu_count" -lt 2 ] || echo 2 ;;
    unpinned) echo "$cpu_count" ;;
    roles) awk '$1 >= 2' "$work/counts" ;;
    *) cat "$work/counts" ;;
    esac
}

# Programs that run with one thread alone; the others need two, or pairs.
takes_threads() {
    case $1 in
    memory_cache | profile_events | spsc_ring | tokio_mpsc) true ;;
    call_single_data) [ $(($2 % 2)) -eq 0 ] ;;
    *) [ "$2" -ge 2 ] ;;
    esac
}

measure_round() {
    local program options other roles threads layout
    while IFS='|' read -r program options other roles; do
        [ -x "$programs/$program-bad" ] || continue
        for threads in $(counts_of "$roles"); do
            takes_threads "$program" "$threads" || continue
            [ "$SECONDS" -lt "$limit" ] || return 0
            for layout in bad "$other"; do
                start "$program" "$options" "$layout" "$roles" "$threads" "$1"
            done
        done
    done < <(grep . <<<"$POINTS")
}

# --- results ---

# What this machine cannot tell, and why.
list_limits() {
    [ "$cpu_count" -ge 3 ] ||
        echo "- Fewer than three CPUs: a line has one waiter at most. Who has it next among several, and how long a read of a line \
that nobody writes keeps it from other readers, cannot be told here; nor can any curve over CPUs."
    [ "$cpu_count" -ge 32 ] ||
        echo "- Fewer than 32 CPUs: the points of published curves with more threads than $cpu_count are missing."
    [ "$cache_count" -gt 1 ] ||
        echo "- One last-level cache: times between caches, and who goes first of near and far CPUs, cannot be told here."
    [ "$package_count" -gt 1 ] || echo "- One package: times between packages cannot be told here."
    [ "$core_count" -lt "$cpu_count" ] ||
        echo "- No two threads of one core, or the hypervisor hides them: what such threads take from each other cannot be told here."
    [ "$virtual" = false ] ||
        echo "- A virtual machine: the hypervisor may move CPUs between cores during a round, and the topology that it shows \
may be wrong."
    [ "$rounds_done" -ge 2 ] || echo "- One round: the table has no spread."
    [ ! -s "$work/notes" ] || sed 's/^/- /' "$work/notes"
}

write_results() {
    {
        echo "{$(json_text schema relayout/real-cores/1), $(json_text date "$(date -u +%FT%TZ)"), \
\"seconds\": $seconds, \"rounds\": $rounds_done,"
        echo "\"machine\": $machine_json,"
        for file in probe contend; do
            echo "\"$file\": $(cat "$out/$file.json" 2>/dev/null || echo null),"
        done
        echo '"starts": ['
        sed '$!s/$/,/' "$work/starts"
        echo ']}'
    } >"$out/result.json"
    {
        echo "# Measured on $machine_text"
        echo
        echo "$(date -u +%F), starts of $seconds s, $rounds_done rounds; one thread of each core first: \
CPUs $(cpu_order "$cpu_count")."
        echo
        echo "What this machine cannot tell:"
        list_limits
        echo
        awk -f "$summary" "$work/starts"
    } >"$out/result.md"
}

measure() {
    out=$1
    mkdir -p "$out"
    out=$(cd "$out" && pwd)
    [ ! -e "$out/result.json" ] || fail 2 "$out/result.json is there already; give another folder"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    programs=$here/programs
    if [ ! -d "$programs" ]; then
        programs=$work/programs
        mkdir "$programs"
        build_programs "$programs"
    fi
    list_cpus >"$work/cpus"
    : >"$work/notes"
    : >"$work/starts"
    describe_machine
    thread_counts >"$work/counts"
    echo "$machine_text"
    SECONDS=0
    measure_latencies
    for ((rounds_done = 0; rounds_done < ROUNDS && SECONDS < limit; rounds_done++)); do
        echo "round $((rounds_done + 1)) of $ROUNDS, after $SECONDS s"
        measure_round $((rounds_done + 1))
    done
    [ "$SECONDS" -lt "$limit" ] || echo "after $limit s, no further program was started: the last round is not complete" >>"$work/notes"
    write_results
    cat "$out/result.md"
}

seconds=0.4
limit=450
while [ $# -gt 1 ]; do
    case $1 in
    --pack)
        pack "$2"
        exit
        ;;
    --seconds) seconds=$2 ;;
    --limit) limit=$2 ;;
    *) break ;;
    esac
    shift 2
done
case $#:${1:-} in
1:-*) fail 2 "$1: not known; see the head of this script" ;;
1:*) measure "$1" ;;
*) fail 2 "give a folder for the results; see the head of this script" ;;
esac
