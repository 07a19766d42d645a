# shellcheck shell=sh
# Read by sh -s on a real host, with the interfaces that a run would use as arguments. Says what is there, one
# "key value" a line, and changes nothing: qdiscs are tried in a network namespace that ends with the trial.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
LC_ALL=C
export LC_ALL
echo "now $(date +%s.%N)"
echo "machine $(uname -m)"
echo "kernel $(uname -r) $(uname -v)"
root=
if [ "$(id -u)" = 0 ]; then
    echo "root yes"
elif sudo -n true 2>/dev/null; then
    echo "root sudo"
    root="sudo -n"
else
    echo "root no"
fi
for tool in ip tc ethtool sysctl unshare; do
    command -v "$tool" >/dev/null || echo "lacks $tool"
done
echo "free_kib $(df -Pk /tmp | awk 'NR == 2 { print $4 }')"
echo "allowed_ccas $(cat /proc/sys/net/ipv4/tcp_allowed_congestion_control 2>/dev/null)"
echo "ccas $(cat /proc/sys/net/ipv4/tcp_available_congestion_control)"
# The interface that this connection comes by: what is shaped there may cut it.
here=$(echo "${SSH_CONNECTION:-}" | awk '{ print $3 }')
[ -n "$here" ] && ip -o addr show 2>/dev/null | awk -v a="$here" '{ sub("/.*", "", $4); if ($4 == a) print "control", $2 }'
ip -o route show default 2>/dev/null | awk '{ for (i = 1; i < NF; i++) if ($i == "dev") print "default", $(i + 1) }'
for iface in "$@"; do
    if [ -e "/sys/class/net/$iface" ]; then
        echo "interface $iface $(cat "/sys/class/net/$iface/operstate")"
        echo "mac $iface $(cat "/sys/class/net/$iface/address")"
        # What it is part of, or what is built on it, would come apart when it is lent.
        for part in "/sys/class/net/$iface"/master "/sys/class/net/$iface"/upper_*; do
            [ -e "$part" ] && echo "part_of $iface $(basename "$(readlink "$part")")"
        done
        tc qdisc show dev "$iface" 2>/dev/null | awk -v i="$iface" '/ (root|ingress|clsact) / { print "qdisc", i, $2 }'
    fi
done
if $root unshare --net true 2>/dev/null; then
    for kind in "htb default 1" "netem delay 1ms" "fq_codel"; do
        # shellcheck disable=SC2086
        said=$($root unshare --net tc qdisc add dev lo root $kind 2>&1) || echo "no_qdisc ${kind%% *} $said" | head -n 1
    done
fi
echo "end"
