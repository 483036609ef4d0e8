# shellcheck shell=bash
# What roots.sh does in each root, in a mount namespace of its own.

# root_enter ROOT PACKAGE KERNEL CASES
root_enter() {
    local root=$1 package=$2 kernel=$3 cases=$4
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/tmp"
    mount --rbind /dev "$root/dev"
    mkdir -p "$root/kernel" "$root/cases"
    mount --bind -o ro "$kernel" "$root/kernel"
    mount --bind -o ro "$cases" "$root/cases"
    cp "$package" "$root/tmp/relayout.deb"
    cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
    root_steps >"$root/tmp/steps.sh"
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive bash -eu /tmp/steps.sh
}

# The steps of a new user.
root_steps() {
    cat <<'STEPS'
say() { printf '%s\n' "-- $*"; }
fail() { printf 'failed: %s\n' "$*" >&2; exit 1; }
quietly() { "$@" >/tmp/log 2>&1 || { tail -n 30 /tmp/log >&2; fail "$*"; }; }

quietly apt-get update
touch /tmp/before
say "install, with what is recommended"
quietly apt-get install -y /tmp/relayout.deb
relayout --version
relayout doctor || fail doctor
quietly apt-get install -y --no-install-recommends man-db
man relayout-record-kernel >/tmp/page 2>&1 || true
[ -s /usr/share/man/man1/relayout-record-kernel.1.gz ] || fail "no manual page"
bash -c '. /usr/share/bash-completion/completions/relayout && complete -p relayout' || fail completions

say "record a kernel"
cd /root
relayout record kernel --workload mntns --image /kernel/vmlinuz --debug /kernel/vmlinux --iterations 40
relayout report mntns.relayout --top 3 >/tmp/report
head -n 25 /tmp/report
grep -q pcpu_chunk /tmp/report || relayout report mntns.relayout --top 0 | grep -q pcpu_chunk || fail "no pcpu_chunk"
relayout advise mntns.relayout pcpu_chunk | head -n 12

say "record a program"
cp -r /cases/tune/server /root/server
cd /root/server
quietly apt-get install -y --no-install-recommends make
make CC="relayout cc"
relayout record run ./server exchange 20000
relayout report server.relayout --top 2
relayout advise server.relayout buffer_pool --source . --patch /root/server.patch --force >/tmp/advice
grep -q '^+++ b/' /root/server.patch || fail "no patch"
head -n 12 /tmp/advice

say "what is missing is said in the installed way"
relayout record kernel --workload mntns 2>&1 | grep 'relayout setup' || fail "no installed remedy"
relayout setup --help >/dev/null

say "remove it"
cd /root
quietly apt-get purge -y relayout
left=$(find / -xdev -newer /tmp/before -iname '*relayout*' -not -path '/proc/*' -not -path '/tmp/*' \
    -not -path '/var/lib/dpkg/*' -not -path '/var/cache/*' -not -path '/var/log/*')
printf 'left: %s\n' "${left:-nothing}"
for path in $left; do
    case $path in
    /root/*) ;;
    *) fail "$path is left" ;;
    esac
done
STEPS
}
