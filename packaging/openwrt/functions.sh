# shellcheck shell=sh disable=SC3043 # ash has `local`
# For the test of uci.sh: the few of OpenWrt's functions that it calls, for files of the form `uci export` writes.
# Values stand in single quotes and contain none.

SECTIONS=
CONFIG_FILE=

config_load() {
	CONFIG_FILE=$1
	# type:name, in order.
	SECTIONS=$(sed -n "s/^config \([a-z]*\) '\([^']*\)'.*/\1:\2/p" "$CONFIG_FILE")
}

# lines_of SECTION: its options and lists.
lines_of() {
	sed -n "/^config [a-z]* '$1'/,/^config [a-z]* /{ s/^[[:space:]]*\(option\|list\) /\1 /p; }" "$CONFIG_FILE"
}

config_get() {
	local found
	found=$(lines_of "$2" | sed -n "s/^option $3 '\(.*\)'\$/\1/p" | tail -n 1)
	[ -n "$found" ] || found=${4:-}
	eval "$1=\$found"
}

config_foreach() {
	local one
	for one in $SECTIONS; do
		[ "${one%%:*}" = "$2" ] && "$1" "${one#*:}"
	done
	return 0
}

config_list_foreach() {
	local values item
	values=$(lines_of "$1" | sed -n "s/^list $2 '\(.*\)'\$/\1/p")
	[ -n "$values" ] || return 0
	# Not in a pipe: the function sets variables of its caller.
	while IFS= read -r item; do
		"$3" "$item"
	done <<END
$values
END
}
