#!/bin/sh
# Unpacks the programs that tests of `fairair vsb` talk to into target/test-programs: promtool, hostapd, snmpd, dnsmasq
# and busybox (its DHCP client), from this system's own packages (Debian, Ubuntu). Nothing is installed: their packages
# would start services. A second run only looks. Exit code 1: something is missing.
set -eu
cd "$(dirname "$0")/.."

packages="prometheus hostapd snmpd dnsmasq-base busybox"
programs="promtool hostapd snmpd dnsmasq busybox"
place=target/test-programs

[ "$(cat "$place/packages" 2>/dev/null)" = "$packages" ] && exit 0
missing=
for program in $programs; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "$program" >/dev/null || missing="$missing $program"
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "setup: no apt-get here: install$missing with this system's package manager (their services need not run)" >&2
    exit 1
fi

# needed: the packages, and the libraries that they need and this system lacks. Alternatives to libraries of the system
# would take their place.
needed() {
    echo "$packages" | tr ' ' '\n'
    # shellcheck disable=SC2086 # a list of words
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
        $packages | grep '^lib' | grep -vE '^lib(js-|elogind|debian-installer|newt|textwrap)|-perl$' | sort -u |
        while read -r library; do
            dpkg-query -W -f '${db:Status-Status}\n' "$library" 2>/dev/null | grep -qE '^(installed|unpacked)' ||
                echo "$library"
        done
}

rm -rf "$place"
mkdir -p "$place/debs" "$place/root" "$place/bin"
apt-cache show prometheus >/dev/null 2>&1 || {
    if [ "$(id -u)" = 0 ]; then apt-get update -q; else sudo apt-get update -q; fi
} || exit 1
echo "setup: unpacking the packages of$missing into $place"
needed >"$place/needed"
# shellcheck disable=SC2046 # a list of words
(cd "$place/debs" && apt-get download -q $(cat ../needed)) >"$place/log" 2>&1 || { cat "$place/log" >&2; exit 1; }
for deb in "$place"/debs/*.deb; do
    dpkg-deb --extract "$deb" "$place/root"
done
# Half of it all.
rm -r "$place/debs" "$place/root/usr/bin/prometheus"

# shellcheck disable=SC2016 # $root is the wrapper's
libraries=$(cd "$place/root" && find . -name '*.so.*' -printf '%h\n' | sort -u | sed 's,^\.,$root,' | tr '\n' ':')
for program in $programs; do
    path=$(cd "$place/root" && find . -type f -path "*bin/$program" -perm -u+x | head -n 1)
    [ -n "$path" ] || { echo "setup: the packages have no $program" >&2; exit 1; }
    # shellcheck disable=SC2016 # so is the rest
    printf '#!/bin/sh\nroot=%s/root\nLD_LIBRARY_PATH="%s${LD_LIBRARY_PATH:-}" exec "$root/%s" "$@"\n' \
        "$PWD/$place" "$libraries" "${path#./}" >"$place/bin/$program"
    chmod 755 "$place/bin/$program"
done
# Last, so that a run that was interrupted begins anew.
echo "$packages" >"$place/packages"
