# shellcheck shell=sh disable=SC3043 # ash has `local`
# From /etc/config/fairair to vsb.toml, on standard output. Whoever reads this file has OpenWrt's functions (config_foreach, config_get,
# config_list_foreach). Options have the names of vsb.toml's keys; `fairair vsb` says which are wrong.

# quoted VALUE: a TOML string.
quoted() {
	printf '"%s"' "$(printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

# texts SECTION OPTION...: lines of strings, for options that are set.
texts() {
	local section="$1" option value
	shift
	for option in "$@"; do
		config_get value "$section" "$option"
		[ -z "$value" ] || printf '%s = %s\n' "$option" "$(quoted "$value")"
	done
}

# words SECTION OPTION...: the same for values that are numbers where they look like numbers.
words() {
	local section="$1" option value
	shift
	for option in "$@"; do
		config_get value "$section" "$option"
		case $value in
		'') ;;
		*[!0-9.]* | *.*.* | .* | *.) printf '%s = %s\n' "$option" "$(quoted "$value")" ;;
		*) printf '%s = %s\n' "$option" "$value" ;;
		esac
	done
}

# flags SECTION OPTION...: true and false.
flags() {
	local section="$1" option value
	shift
	for option in "$@"; do
		config_get value "$section" "$option"
		case $value in
		'') ;;
		1 | on | true | yes | enabled) printf '%s = true\n' "$option" ;;
		*) printf '%s = false\n' "$option" ;;
		esac
	done
}

# lists SECTION OPTION...: lists of strings; numbers SECTION OPTION: a list of numbers.
lists() {
	local section="$1" option items
	shift
	for option in "$@"; do
		items=
		config_list_foreach "$section" "$option" add_text
		[ -z "$items" ] || printf '%s = [%s]\n' "$option" "$items"
	done
}

numbers() {
	local items=
	config_list_foreach "$1" "$2" add_number
	[ -z "$items" ] || printf '%s = [%s]\n' "$2" "$items"
}

add_text() {
	items="${items:+$items, }$(quoted "$1")"
}

add_number() {
	items="${items:+$items, }$1"
}

site() {
	texts "$1" name mode policy udp quantum batch leaf gso metrics
	config_get value "$1" state /var/run/fairair
	printf 'state = %s\n' "$(quoted "$value")"
	words "$1" queue
	lists "$1" uplink exclude
}

ap() {
	local kind
	printf '\n[[ap]]\n'
	# The section's name, unless it says another.
	config_get value "$1" name "$1"
	printf 'name = %s\n' "$(quoted "$value")"
	texts "$1" interface capacity phy basic_rate
	words "$1" channel
	lists "$1" prefixes
	config_get kind "$1" kind
	if [ -n "$kind" ]; then
		printf '[ap.capacity]\nkind = %s\n' "$(quoted "$kind")"
		texts "$1" rate min max interval target timeout threshold high low step
		words "$1" share rise back_off speed_up base_samples
	fi
}

plan() {
	printf '\n[[plan]]\n'
	config_get value "$1" name "$1"
	printf 'name = %s\n' "$(quoted "$value")"
	words "$1" weight
	texts "$1" cap
}

station() {
	printf '\n[[station]]\n'
	config_get value "$1" name "$1"
	printf 'name = %s\n' "$(quoted "$value")"
	texts "$1" ap mac plan cap rate
	words "$1" weight
	lists "$1" addresses
}

wan() {
	printf '\n[wan]\n'
	texts "$1" up down
}

journal() {
	printf '\n[journal]\n'
	texts "$1" file keep log log_limit
}

discovery() {
	printf '\n[discovery]\n'
	flags "$1" neighbours first_sight
	texts "$1" dnsmasq kea age
	lists "$1" iw
}

hostapd() {
	printf '\n[[discovery.hostapd]]\n'
	texts "$1" socket ap
}

snmp() {
	printf '\n[[discovery.snmp]]\n'
	texts "$1" ap agent community table every oid mac rate_oid rate_unit address_oid
	numbers "$1" ports
}

# vsb_toml: the whole file.
vsb_toml() {
	local value kind
	printf '# From /etc/config/fairair: changes here are lost.\n'
	for kind in site ap plan station wan journal discovery hostapd snmp; do
		config_foreach "$kind" "$kind"
	done
}
