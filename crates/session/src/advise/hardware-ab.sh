#!/bin/bash
# Measures a kernel patch on this machine's hardware, and puts the table into the patch's message.
#
#   hardware-ab.sh PATCH build SOURCE            two kernels with this machine's configuration
#   hardware-ab.sh PATCH run N REGEX COMMAND...  N runs of COMMAND under the kernel that is booted;
#                                                its metric is the number that REGEX captures
#   hardware-ab.sh PATCH merge                   the table of all runs, into PATCH
#
# build makes PATCH.ab/before and PATCH.ab/after and says how to install them; nothing is installed and
# no boot loader is touched. Boot each kernel at least three times, by turns (before, after, after,
# before, ...), and run the same command each time: boots differ more than runs. What is compared are
# the means of boots.
set -euo pipefail

die() {
    echo "hardware-ab.sh: $*" >&2
    exit 2
}

usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit "$1"
}

case ${1-} in -h | --help) usage 0 ;; esac
[ $# -ge 2 ] || usage 2 >&2
[ -f "$1" ] || die "$1: no such patch"
patch=$(realpath "$1")
folder=$patch.ab
action=$2
shift 2

build() {
    [ $# -eq 1 ] || die "build takes the kernel's source tree"
    [ -f "$1/Kbuild" ] || die "$1 is not the top of a Linux source tree"
    local source config which
    source=$(realpath "$1")
    config=/boot/config-$(uname -r)
    [ -r "$config" ] || die "no $config: put this machine's kernel configuration there"
    mkdir -p "$folder"
    rm -rf "$folder/source"
    echo "copying $source"
    cp -a "$source" "$folder/source"
    make -C "$folder/source" mrproper >"$folder/make.log" 2>&1
    for which in before after; do
        if [ "$which" = after ]; then
            patch -d "$folder/source" -p1 --forward <"$patch" >>"$folder/make.log" ||
                die "the patch does not apply: see $folder/make.log"
        fi
        mkdir -p "$folder/$which"
        cp "$config" "$folder/$which/.config"
        echo "building the kernel $which the patch (log: $folder/make.log)"
        make -C "$folder/source" O="$folder/$which" olddefconfig >>"$folder/make.log" 2>&1
        make -C "$folder/source" O="$folder/$which" -j"$(nproc)" LOCALVERSION=-ab-$which \
            >>"$folder/make.log" 2>&1 || die "make failed: see $folder/make.log"
        echo "install it: sudo make -C $folder/source O=$folder/$which LOCALVERSION=-ab-$which" \
            "modules_install install"
    done
    echo "Then boot one, run '$0 $patch run ...', and go on by turns."
}

booted() {
    case $(uname -r) in
    *-ab-before*) echo before ;;
    *-ab-after*) echo after ;;
    *) die "the kernel that runs, $(uname -r), is neither of the two: boot one of those that build made" ;;
    esac
}

run() {
    [ $# -ge 3 ] || die "run takes the number of runs, a regex with one group, and a command"
    local count=$1 regex=$2 which boot nth output value
    shift 2
    [[ $count =~ ^[1-9][0-9]*$ ]] || die "'$count' is no number of runs"
    which=$(booted)
    boot=$(cat /proc/sys/kernel/random/boot_id)
    mkdir -p "$folder"
    for ((nth = 1; nth <= count; nth++)); do
        output=$("$@") || die "run $nth failed: $*"
        [[ $output =~ $regex ]] || die "'$regex' is not in the output of run $nth"
        value=${BASH_REMATCH[1]-}
        [[ $value =~ ^[0-9]+([.][0-9]+)?$ ]] || die "'$value' is no number: put the number in (parentheses)"
        echo "$which $boot $value" >>"$folder/results"
        echo "$which, run $nth of $count: $value"
    done
    {
        lscpu | sed -n 's/^Model name: *//p' | head -n 1
        echo "$(nproc) CPUs, $(lscpu | sed -n 's/^Socket(s): *//p') sockets, Linux $(uname -r | sed 's/-ab-.*//')"
        echo "$*"
    } >"$folder/machine"
}

# The LKP-style table of the means of boots, with an interval by resampling boots.
table() {
    awk '
        function mean(list, n,   i, sum) { for (i = 1; i <= n; i++) sum += list[i]; return sum / n }
        function spread(list, n, m,   i, sum) {
            for (i = 1; i <= n; i++) sum += (list[i] - m) ^ 2
            return n > 1 ? 100 * sqrt(sum / (n - 1)) / m : 0
        }
        function drawn(list, n,   i, sum) {
            for (i = 1; i <= n; i++) sum += list[1 + int(rand() * n)]
            return sum / n
        }
        function tag(percent) { return percent > 2 ? sprintf("± %2.0f%%", percent) : "     " }
        { sum[$1, $2] += $3; runs[$1, $2]++ }
        END {
            for (key in sum) {
                split(key, part, SUBSEP)
                if (part[1] == "before") before[++a] = sum[key] / runs[key]
                else after[++b] = sum[key] / runs[key]
            }
            if (a < 2 || b < 2) {
                print "too few boots: " a + 0 " before, " b + 0 " after; at least 2 of each" > "/dev/stderr"
                exit 2
            }
            m = mean(before, a); n = mean(after, b)
            srand(1)
            for (i = 1; i <= 2000; i++) change[i] = 100 * (drawn(after, b) / drawn(before, a) - 1)
            for (i = 2; i <= 2000; i++) {
                x = change[i]
                for (j = i - 1; j > 0 && change[j] > x; j--) change[j + 1] = change[j]
                change[j + 1] = x
            }
            printf "          before                        after\n"
            printf "---------------- ---------------------------\n"
            printf "         %%stddev     %%change         %%stddev\n"
            printf "             \\          |                \\\n"
            printf "%10.6g %s %+9.1f%% %10.6g %s\n", m, tag(spread(before, a, m)), \
                100 * (n / m - 1), n, tag(spread(after, b, n))
            printf "\n95%% interval of the change %+.1f%% to %+.1f%%; %d and %d boots\n", \
                change[50], change[1950], a, b
        }' "$folder/results"
}

merge() {
    [ -s "$folder/results" ] || die "no results in $folder: use run first"
    local block table
    table=$(table | sed 's, *$,,') || die "nothing was merged"
    block=$(mktemp)
    # shellcheck disable=SC2064
    trap "rm -f '$block'" EXIT
    {
        echo "Measured on hardware:"
        sed 's/^/  /' "$folder/machine"
        echo
        echo "$table"
        echo "(end of measurement)"
    } >"$block"
    # In front of the line of dashes that ends the message; an earlier table goes.
    awk -v block="$block" '
        !ended && /^$/ { blank++; next }
        !ended && /^Measured on hardware:$/ { skip = 1 }
        skip { blank = 0; if (/^\(end of measurement\)$/) skip = 0; next }
        !ended && /^---$/ {
            ended = 1
            print ""
            while ((getline line < block) > 0) print line
            blank = 0
        }
        { while (blank > 0) { print ""; blank-- } }
        { print }
        END { if (!ended) exit 1 }' "$patch" >"$patch.new" || {
        rm -f "$patch.new"
        die "$patch has no message: it is not what git format-patch writes"
    }
    mv "$patch.new" "$patch"
    sed -n '/^Measured on hardware:/,/^(end/p' "$patch"
}

case $action in
build | run | merge) "$action" "$@" ;;
*) usage 2 >&2 ;;
esac
