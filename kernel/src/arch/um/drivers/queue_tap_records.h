/* SPDX-License-Identifier: GPL-2.0 */
/* What the queue tap writes: records of one size, little-endian; crates/tap reads them. */
#ifndef __UM_QUEUE_TAP_RECORDS_H
#define __UM_QUEUE_TAP_RECORDS_H

#include <linux/build_bug.h>
#include <linux/types.h>

enum { RECORD_FLOW = 1, RECORD_PACKET = 2, RECORD_TRAFFIC = 3, RECORD_LEVELS = 4 };
enum { OUT_DEPARTED = 1, OUT_DROPPED = 2, OUT_QUEUED = 3 };

/* in a record's reason: it is an skb_drop_reason, not a qdisc_drop_reason */
#define REASON_OF_SKB 0x8000

/*
 * in a record's reason: a qdisc freed it as something used up, which is how CAKE drops an
 * acknowledgement that a later one makes needless
 */
#define REASON_CONSUMED 0x4000

struct flow_key {
	u8 protocol, family;
	__be16 sport, dport;
	u8 src[16], dst[16];
} __packed;

struct flow_record {
	u8 type, hop, protocol, family;
	__le32 flow;
	__le16 sport, dport;
	u8 src[16], dst[16];
	__le32 zero;
} __packed;

struct packet_record {
	u8 type, hop;
	__le16 bytes;
	__le32 flow;
	__le64 arrival_ns, sojourn_ns;
	__le32 backlog_bytes, backlog_packets;
	__le32 backlog_bytes_after, backlog_packets_after;
	__le16 reason;
	u8 outcome, tos_in, tos_out, zero[3];
} __packed;

struct traffic_record {
	u8 type, hop, zero[2];
	__le32 marked_packets;
	__le64 start_ns;
	__le32 arrived_packets, arrived_bytes, departed_packets, departed_bytes;
	__le32 dropped_packets, dropped_bytes;
	__le64 sojourn_sum_ns;
} __packed;

struct levels_record {
	u8 type, hop, zero[6];
	__le64 start_ns;
	__le32 bytes_min, bytes_mean, bytes_max;
	__le32 packets_min, packets_mean_x1000, packets_max;
	__le64 sojourn_max_ns;
} __packed;

#define RECORD_BYTES 48
static_assert(sizeof(struct flow_record) == RECORD_BYTES);
static_assert(sizeof(struct packet_record) == RECORD_BYTES);
static_assert(sizeof(struct traffic_record) == RECORD_BYTES);
static_assert(sizeof(struct levels_record) == RECORD_BYTES);

#endif
