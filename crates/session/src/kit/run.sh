#!/bin/sh
# Measures two builds of a program on this machine, by turns, and writes a result:
#
#   ./run [RESULT]        default: result-HOST.txt in this folder
#
# It needs a shell and the usual small tools. With taskset it keeps the CPUs that the kit asks for; with perf it also
# counts events, once for each build. Copy the result back, for `relayout verify --import RESULT`. It has the output of
# the benchmark, the names of this machine's processor and kernel, and nothing else.
set -u
here=$PWD
cd "$(dirname "$0")" || exit 2
kit=$PWD
. ./kit.sh

case ${1-} in
-h | --help)
	sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$kit/run"
	exit 0
	;;
esac
read -r host </proc/sys/kernel/hostname 2>/dev/null || host=unknown
result=${1-$kit/result-$host.txt}
case $result in
/*) ;;
*) result=$here/$result ;;
esac
if [ -e "$result" ]; then
	echo "run: $result is there already; give another name, or remove it" >&2
	exit 2
fi
work=$result.work
mkdir "$work" || exit 3
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Seconds since some moment, with as many digits as the machine has.
now() {
	moment=$(date +%s.%N)
	case $moment in
	*[!0-9.]*) read -r moment _ </proc/uptime ;;
	esac
	echo "$moment"
}

say() {
	echo "$*" >>"$work/result"
}

# Appends the lines of a file, each behind a word.
quote() {
	while IFS= read -r line || [ -n "$line" ]; do
		printf '%s %s\n' "$1" "$line"
	done <"$2" >>"$work/result"
}

# Value of the first line of a file that begins with a name.
value_of() {
	while IFS=: read -r name value; do
		case $name in
		"$1"*)
			echo "${value# }"
			return
			;;
		esac
	done <"$2"
}

keep_cpus=
if [ -n "$KIT_CPUS" ]; then
	if taskset -c "$KIT_CPUS" true 2>/dev/null; then
		keep_cpus="taskset -c $KIT_CPUS"
		say_pinned=$KIT_CPUS
	else
		echo "run: cannot keep to the CPUs $KIT_CPUS: no taskset, or no such CPUs; all are used" >&2
		say_pinned=no
	fi
else
	say_pinned=all
fi

# start SIDE KIND NUMBER: runs the benchmark of a side once.
start() {
	tries=0
	while :; do
		begun=$(now)
		(run_side "$1" >"$work/out" 2>"$work/err"
			code=$?
			times >"$work/times"
			exit $code)
		code=$?
		ended=$(now)
		say "start $1 $2 $3 $code $begun $ended"
		quote times "$work/times"
		quote out "$work/out"
		quote err "$work/err"
		say end
		[ "$code" -ne 0 ] || return 0
		tries=$((tries + 1))
		if [ "$code" != "$KIT_DISTURBED" ] || [ "$tries" -eq 20 ]; then
			echo "run: the benchmark of '$1' ended with exit code $code:" >&2
			cat "$work/out" "$work/err" >&2
			exit 4
		fi
	done
}

say "relayout-kit-result 1"
quote kit "$kit/kit.json"
read -r release </proc/sys/kernel/osrelease 2>/dev/null || release=unknown
say "kernel Linux $release"
say "cpu $(value_of 'model name' /proc/cpuinfo)"
cpus=0
while read -r name _; do
	case $name in processor*) cpus=$((cpus + 1)) ;; esac
done </proc/cpuinfo
say "cpus $cpus"
virtual=no
while read -r line; do
	case $line in flags*" hypervisor"*) virtual=yes ;; esac
done </proc/cpuinfo
say "virtual $virtual"
say "pinned $say_pinned"

while read -r kind number side; do
	echo "$kind $((number + 1)): $side" >&2
	start "$side" "$kind" "$number"
done <"$kit/plan"

if perf stat -e "$KIT_EVENTS" true >/dev/null 2>&1; then
	for side in before after; do
		echo "perf: $side" >&2
		(keep_cpus="perf stat -x, -e $KIT_EVENTS -o $work/perf $keep_cpus"
			run_side "$side" >/dev/null 2>&1)
		say "perf $side"
		quote event "$work/perf"
		say end
	done
fi
say finished
mv "$work/result" "$result"
echo "$result"
