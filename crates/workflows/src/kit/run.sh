#!/bin/sh
# Measures a change on this machine, and writes a result for `relayout verify --import RESULT`.
#
#   ./run [RESULT]        default: result-HOST.txt in this folder
#   ./run install         of a kit with kernels: copies both into /boot and /lib/modules, as root
#
# A kit with two builds of a program starts them by turns. A kit with kernels measures the one that is booted, and adds
# it to the result: boot one, run, boot the other, run, and so on, at least six times each.
#
# It needs a shell and the usual small tools. With taskset it keeps the CPUs that the kit asks for; with perf it also
# counts events of programs, once for each build. The result has the output of the benchmark, the names of this machine's
# processor and kernel, and nothing else.
set -u
here=$PWD
cd "$(dirname "$0")" || exit 2
kit=$PWD
KIT_BEFORE=
# shellcheck source=/dev/null
. ./kit.sh

fail() {
	echo "run: $2" >&2
	exit "$1"
}

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

# Tells what the result is of: the kit, and this machine.
say_head() {
	say "relayout-kit-result 1"
	quote kit "$kit/kit.json"
	say "kernel $(uname -sr)"
	say "cpu $(value_of 'model name' /proc/cpuinfo)"
	cpus=0
	virtual=no
	while read -r line; do
		case $line in
		processor*) cpus=$((cpus + 1)) ;;
		flags*" hypervisor"*) virtual=yes ;;
		esac
	done </proc/cpuinfo
	say "cpus $cpus"
	say "virtual $virtual"
	say "pinned $pinned"
}

# Sets keep_cpus, which goes in front of the benchmark.
keep_to_cpus() {
	keep_cpus=
	pinned=all
	[ -n "$KIT_CPUS" ] || return 0
	pinned=$KIT_CPUS
	keep_cpus="taskset -c $KIT_CPUS"
	if ! $keep_cpus true 2>/dev/null; then
		echo "run: cannot keep to the CPUs $KIT_CPUS: no taskset, or no such CPUs; all are used" >&2
		keep_cpus=
		pinned=no
	fi
}

# run_often SIDE COUNT: runs the benchmark of a side so many times.
run_often() {
	left=$2
	while [ "$left" -gt 0 ]; do
		run_side "$1" || return $?
		left=$((left - 1))
	done
}

# start SIDE KIND NUMBER COUNT: runs the benchmark of a side, and tells what it gave.
start() {
	tries=0
	while :; do
		begun=$(now)
		(run_often "$1" "$4" >"$work/out" 2>"$work/err"
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
			cat "$work/out" "$work/err" >&2
			fail 4 "the benchmark of '$1' ended with exit code $code"
		fi
	done
}

measure_programs() {
	[ ! -e "$result" ] || fail 2 "$result is there already; give another name, or remove it"
	say_head
	while read -r kind number side; do
		echo "$kind $((number + 1)): $side" >&2
		start "$side" "$kind" "$number" 1
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
}

measure_kernel() {
	case $(uname -r) in
	"$KIT_BEFORE") side=before ;;
	"$KIT_AFTER") side=after ;;
	*) fail 2 "the kernel that runs, $(uname -r), is none of the kit: boot $KIT_BEFORE or $KIT_AFTER" ;;
	esac
	boot=$(cat /proc/sys/kernel/random/boot_id)
	boots=0
	if [ -e "$result" ]; then
		while read -r word which id; do
			[ "$word" = boot ] || continue
			[ "$id" != "$boot" ] || fail 2 "this boot is measured already; boot again"
			[ "$which" != "$side" ] || boots=$((boots + 1))
		done <"$result"
	else
		say_head
	fi
	say "boot $side $boot"
	echo "$side, boot $((boots + 1))" >&2
	warmup=$KIT_WARMUPS
	while [ "$warmup" -gt 0 ]; do
		run_side "$side" >/dev/null 2>&1
		warmup=$((warmup - 1))
	done
	start "$side" pair "$boots" "$KIT_STARTS"
	cat "$work/result" >>"$result"
}

install_kernels() {
	for side in before after; do
		cp -R "$kit/$side/." / || fail 3 "cannot copy the kernel into /; are you root?"
	done
	for release in "$KIT_BEFORE" "$KIT_AFTER"; do
		if [ -d "/lib/modules/$release" ] && command -v update-initramfs >/dev/null; then
			update-initramfs -c -k "$release"
		fi
	done
	if command -v update-grub >/dev/null; then
		update-grub
	else
		echo "Tell the boot loader of /boot/vmlinuz-$KIT_BEFORE and /boot/vmlinuz-$KIT_AFTER."
	fi
}

case ${1-} in
-h | --help)
	sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$kit/run"
	exit 0
	;;
install)
	[ -n "$KIT_BEFORE" ] || fail 2 "this kit has programs; there is nothing to install"
	install_kernels
	exit 0
	;;
esac
read -r host </proc/sys/kernel/hostname 2>/dev/null || host=unknown
result=${1-$kit/result-$host.txt}
case $result in
/*) ;;
*) result=$here/$result ;;
esac
work=$result.work
mkdir "$work" || exit 3
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
keep_to_cpus
if [ -n "$KIT_BEFORE" ]; then
	measure_kernel
else
	measure_programs
fi
echo "$result"
