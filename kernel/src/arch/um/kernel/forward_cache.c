// SPDX-License-Identifier: GPL-2.0
/*
 * Forward cache: a router's answer to "where does a packet from this interface
 * with these addresses go" is remembered.
 *
 * Why: a packet between two routed interfaces is looked up in the routing table each time,
 * checked and given its Ethernet header by a dozen functions, to the same answer.
 *
 * The first packet of each pair of addresses and DSCP is forwarded as always;
 * what it looked like when it left is kept. Those after it get the same: one
 * hop less to live, the same Ethernet header and interface, and enter the queue
 * of that interface in the same instant. What is not plain (options, fragments
 * to be made, a packet at the end of its life, super-packets, a namespace with
 * netfilter or routing rules) goes the long way, and any change of a route,
 * address, neighbour or interface forgets everything. All counters are kept.
 */
#include <linux/etherdevice.h>
#include <linux/hash.h>
#include <linux/inetdevice.h>
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/moduleparam.h>
#include <linux/netfilter.h>
#include <linux/netfilter_netdev.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/netevent.h>
#include <net/route.h>
#include <trace/events/net.h>

/* forward_cache.on=0: to show that nothing notices. */
static bool on = true;
module_param(on, bool, 0444);

#define WAY_BITS 10

/* How packets from one interface with these addresses leave. */
struct way {
	struct net_device *in, *out;
	__be32 from, to;
	int generation;
	u8 tos;
	u8 header[ETH_HLEN];
};

/* An interface of a router, and its hook. */
struct port {
	struct list_head list;
	struct rcu_head rcu;
	struct nf_hook_ops ops;
};

static struct way ways[1 << WAY_BITS];
static LIST_HEAD(ports);

/* The packet that goes the long way last, and what it was when it came. */
static struct {
	struct sk_buff *skb;
	struct way way;
	u8 ttl;
} learnt;

static struct way *way_of(const struct net_device *in, const struct iphdr *ip)
{
	u64 addresses = (u64)(__force u32)ip->saddr << 32 | (__force u32)ip->daddr;

	return &ways[hash_64(addresses ^ (unsigned long)in ^ ip->tos * GOLDEN_RATIO_64, WAY_BITS)];
}

static bool is_way(const struct way *way, const struct net_device *in, const struct iphdr *ip)
{
	return way->in == in && way->from == ip->saddr && way->to == ip->daddr &&
	       way->tos == ip->tos && way->generation == rt_genid_ipv4(dev_net(in));
}

/* Only what looks at addresses and DSCP decides where a packet goes. */
static bool is_plain(const struct net *net)
{
	return !rcu_access_pointer(net->nf.hooks_ipv4[NF_INET_PRE_ROUTING]) &&
	       !rcu_access_pointer(net->nf.hooks_ipv4[NF_INET_FORWARD]) &&
	       !rcu_access_pointer(net->nf.hooks_ipv4[NF_INET_POST_ROUTING]) &&
#ifdef CONFIG_IP_MULTIPLE_TABLES
	       !net->ipv4.fib_has_custom_rules &&
#endif
	       net->ipv4.sysctl_ip_fwd_update_priority;
}

static unsigned int on_arrival(void *unused, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct net_device *in = skb->dev;
	struct net *net = dev_net(in);
	struct iphdr *ip;
	struct way *way;

	if (skb->protocol != htons(ETH_P_IP) || skb->pkt_type != PACKET_HOST || skb_shared(skb) ||
	    skb_vlan_tag_present(skb) || skb_is_gso(skb) || skb_headlen(skb) < sizeof(*ip))
		return NF_ACCEPT;
	ip = ip_hdr(skb);
	if (ip->version != 4 || ip->ihl != 5 || ip->ttl <= 1 || ntohs(ip->tot_len) != skb->len ||
	    ip_fast_csum(ip, 5))
		return NF_ACCEPT;
	way = way_of(in, ip);
	if (unlikely(!is_way(way, in, ip)) || !is_plain(net)) {
		learnt.skb = skb;
		learnt.ttl = ip->ttl;
		learnt.way = (struct way){
			.in = in,
			.from = ip->saddr,
			.to = ip->daddr,
			.tos = ip->tos,
			.generation = rt_genid_ipv4(net),
		};
		return NF_ACCEPT;
	}
	if (skb->len > READ_ONCE(way->out->mtu))
		return NF_ACCEPT;

	/* As ip_rcv(), ip_forward() and ip_output() do it, in this order, and counted as there. */
	__IP_UPD_PO_STATS(net, IPSTATS_MIB_IN, skb->len);
	__IP_INC_STATS(net, IPSTATS_MIB_NOECTPKTS + (ip->tos & INET_ECN_MASK));
	skb->transport_header = skb->network_header + sizeof(*ip);
	memset(IPCB(skb), 0, sizeof(struct inet_skb_parm));
	IPCB(skb)->iif = skb->skb_iif;
	IPCB(skb)->flags = IPSKB_FORWARDED;
	skb_orphan(skb);
	skb_forward_csum(skb);
	__IP_INC_STATS(net, IPSTATS_MIB_OUTFORWDATAGRAMS);
	if (skb_cow(skb, LL_RESERVED_SPACE(way->out))) {
		kfree_skb(skb);
		return NF_STOLEN;
	}
	ip = ip_hdr(skb);
	ip_decrease_ttl(ip);
	skb->priority = rt_tos2priority(ip->tos);
	skb_clear_tstamp(skb);
	IP_UPD_PO_STATS(net, IPSTATS_MIB_OUT, skb->len);
	skb->dev = way->out;
	memcpy(__skb_push(skb, ETH_HLEN), way->header, ETH_HLEN);
	dev_queue_xmit(skb);
	return NF_STOLEN;
}

static void on_departure(void *unused, struct sk_buff *skb)
{
	struct way *way = &learnt.way;
	const struct iphdr *ip;

	if (likely(skb != learnt.skb))
		return;
	learnt.skb = NULL;
	ip = ip_hdr(skb);
	if (skb->protocol != htons(ETH_P_IP) || skb->skb_iif != way->in->ifindex ||
	    skb->dev == way->in || dev_net(skb->dev) != dev_net(way->in) ||
	    ip->saddr != way->from || ip->daddr != way->to || ip->tos != way->tos ||
	    ip->ttl != learnt.ttl - 1 || skb->dev->type != ARPHRD_ETHER ||
	    skb_network_offset(skb) != ETH_HLEN ||
	    way->generation != rt_genid_ipv4(dev_net(skb->dev)))
		return;
	way->out = skb->dev;
	memcpy(way->header, skb->data, ETH_HLEN);
	*way_of(way->in, ip) = *way;
}

static void forget(void)
{
	memset(ways, 0, sizeof(ways));
	learnt.skb = NULL;
}

static int on_neighbour(struct notifier_block *block, unsigned long event, void *unused)
{
	forget();
	return NOTIFY_DONE;
}

static void open_port(struct net_device *dev)
{
	struct in_device *in_dev = __in_dev_get_rtnl(dev);
	struct port *port;

	if (!in_dev || !IN_DEV_FORWARD(in_dev) || dev->type != ARPHRD_ETHER)
		return;
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return;
	port->ops = (struct nf_hook_ops){
		.hook = on_arrival,
		.dev = dev,
		.pf = NFPROTO_NETDEV,
		.hooknum = NF_NETDEV_INGRESS,
		.priority = INT_MAX,
	};
	if (nf_register_net_hook(dev_net(dev), &port->ops))
		kfree(port);
	else
		list_add(&port->list, &ports);
}

static void close_port(struct net_device *dev)
{
	struct port *port, *next;

	list_for_each_entry_safe(port, next, &ports, list) {
		if (port->ops.dev != dev)
			continue;
		nf_unregister_net_hook(dev_net(dev), &port->ops);
		list_del(&port->list);
		kfree_rcu(port, rcu);
	}
}

static int on_interface(struct notifier_block *block, unsigned long event, void *info)
{
	forget();
	if (event == NETDEV_UP)
		open_port(netdev_notifier_info_to_dev(info));
	else if (event == NETDEV_GOING_DOWN)
		close_port(netdev_notifier_info_to_dev(info));
	return NOTIFY_DONE;
}

static struct notifier_block neighbours = { .notifier_call = on_neighbour };
static struct notifier_block interfaces = { .notifier_call = on_interface };

static int __init forward_cache_init(void)
{
	if (!on)
		return 0;
	/* clang-format off: it takes each ?: for two operators */
	return register_trace_net_dev_queue(on_departure, NULL) ?:
		       register_netevent_notifier(&neighbours)	?:
		       register_netdevice_notifier(&interfaces);
	/* clang-format on */
}
late_initcall(forward_cache_init);
