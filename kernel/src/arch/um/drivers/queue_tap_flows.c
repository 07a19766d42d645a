// SPDX-License-Identifier: GPL-2.0
/*
 * The flows that the queue tap meets: a number for each, and a record that says which it is.
 *
 * Why: a record of a packet has no room for addresses.
 */

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/ip.h>
#include "queue_tap.h"
#include "queue_tap_records.h"
#include "tap_file.h"

#define FLOW_BITS 12

struct flow {
	struct hlist_node node;
	struct flow_key key;
	u32 id;
};

static u32 flow_count;
static struct hlist_head flows[1 << FLOW_BITS];

static void flow_key_of(const struct sk_buff *skb, struct flow_key *key)
{
	int transport;
	__be16 ports[2], *p;

	memset(key, 0, sizeof(*key));
	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		key->family = 4;
		key->protocol = ip_hdr(skb)->protocol;
		memcpy(key->src, &ip_hdr(skb)->saddr, 4);
		memcpy(key->dst, &ip_hdr(skb)->daddr, 4);
		if (ip_is_fragment(ip_hdr(skb)))
			return;
		transport = skb_network_offset(skb) + ip_hdr(skb)->ihl * 4;
		break;
	case htons(ETH_P_IPV6):
		key->family = 6;
		key->protocol = ipv6_hdr(skb)->nexthdr;
		memcpy(key->src, &ipv6_hdr(skb)->saddr, 16);
		memcpy(key->dst, &ipv6_hdr(skb)->daddr, 16);
		transport = skb_network_offset(skb) + sizeof(struct ipv6hdr);
		break;
	default:
		return;
	}
	if (key->protocol != IPPROTO_TCP && key->protocol != IPPROTO_UDP)
		return;
	p = skb_header_pointer(skb, transport, sizeof(ports), ports);
	if (p) {
		key->sport = p[0];
		key->dport = p[1];
	}
}

u32 queue_tap_flow(const struct sk_buff *skb, u8 hop, struct tap_file *file)
{
	struct flow_record *record;
	struct hlist_head *head;
	struct flow_key key;
	struct flow *flow;

	flow_key_of(skb, &key);
	head = &flows[jhash(&key, sizeof(key), 0) & ((1 << FLOW_BITS) - 1)];
	hlist_for_each_entry(flow, head, node)
		if (!memcmp(&flow->key, &key, sizeof(key)))
			return flow->id;

	flow = kmalloc(sizeof(*flow), GFP_ATOMIC);
	if (!flow) {
		file->error = -ENOMEM;
		return 0;
	}
	flow->key = key;
	flow->id = ++flow_count;
	hlist_add_head(&flow->node, head);

	record = tap_file_record(file);
	record->type = RECORD_FLOW;
	record->hop = hop;
	record->protocol = key.protocol;
	record->family = key.family;
	record->flow = cpu_to_le32(flow->id);
	record->sport = cpu_to_le16(ntohs(key.sport));
	record->dport = cpu_to_le16(ntohs(key.dport));
	memcpy(record->src, key.src, sizeof(key.src));
	memcpy(record->dst, key.dst, sizeof(key.dst));
	return flow->id;
}
