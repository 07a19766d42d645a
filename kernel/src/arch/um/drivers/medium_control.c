// SPDX-License-Identifier: GPL-2.0
/*
 * The control of media (medium.c), and the record of what became of each packet.
 *
 * Why: an agent sets media up without a tool of its own, and the truth of each packet costs no
 * virtual time.
 *
 * The record, struct medium_record, goes to a file of the host.
 *
 * Control, in the interface's namespace, by /proc/medium, one command a write:
 *
 *	add IFACE NUMBER AIR TURNS REPEAT_NS FLAGS OVERHEAD RING_BYTES RETRIES GRANT_TURNS
 *	turns NUMBER		a line, and behind it turns as struct turn has them
 *	start NS		of CLOCK_MONOTONIC; before that all packets pass as if nothing was here
 *	flush
 */

#include <linux/errno.h>
#include <linux/etherdevice.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <init.h>
#include "medium.h"
#include "tap_file.h"

#define TURNS_MAX      (1U << 24)
#define BUFFER_RECORDS 16384
#define WRITE_MAX      (64 * 1024)

/* As docs/links.md has it; little endian, as the host is. */
struct medium_record {
	u64 entered_ns;
	u64 sent_ns; /* its last turn */
	u64 left_ns;
	u32 turn; /* since the start, repetitions counted on */
	u16 bytes;
	u8 medium;
	u8 outcome_tries; /* outcome, and how often it was sent << 2 */
};

static_assert(sizeof(struct medium_record) == 32);

static struct tap_file file = TAP_FILE(sizeof(struct medium_record), BUFFER_RECORDS);
struct medium *media[MEDIA_MAX];

void medium_record(struct medium *m, struct sk_buff *skb, u64 left_ns, enum outcome outcome)
{
	struct medium_record *r;
	unsigned long flags;

	if (file.fd < 0)
		return;
	local_irq_save(flags);
	r = tap_file_record(&file);
	r->entered_ns = held(skb)->entered_ns;
	r->sent_ns = held(skb)->sent_ns;
	r->left_ns = left_ns;
	r->turn = held(skb)->turn;
	r->bytes = min_t(u32, skb->len, U16_MAX);
	r->medium = m->number;
	r->outcome_tries = outcome | min_t(u32, held(skb)->tries, 63) << 2;
	local_irq_restore(flags);
}

static int medium_add(const char *name, struct medium *m)
{
	int err;

	if (m->number >= MEDIA_MAX || m->air >= MEDIA_MAX || !m->turn_count ||
	    m->turn_count > TURNS_MAX || m->grant_turns > GRANTS_MAX || !m->ring_limit)
		return -EINVAL;
	if (media[m->number])
		return -EEXIST;
	err = tap_file_open(&file);
	if (err)
		return err;
	m->turns = vmalloc(array_size(m->turn_count, sizeof(struct turn)));
	if (!m->turns)
		return -ENOMEM;
	/* held for good: a guest lives for one run */
	m->dev = dev_get_by_name(current->nsproxy->net_ns, name);
	if (!m->dev) {
		vfree(m->turns);
		return -ENODEV;
	}
	medium_attach(m);
	media[m->number] = m;
	return 0;
}

static int medium_turns(unsigned int number, const void *turns, size_t size)
{
	struct medium *m = number < MEDIA_MAX ? media[number] : NULL;
	u32 count = size / sizeof(struct turn);

	if (!m || size % sizeof(struct turn) || count > m->turn_count - m->turns_written)
		return -EINVAL;
	memcpy(m->turns + m->turns_written, turns, size);
	m->turns_written += count;
	return 0;
}

static int media_start(u64 start_ns)
{
	unsigned int i;

	for (i = 0; i < MEDIA_MAX; i++)
		if (media[i] &&
		    (media[i]->turns_written < media[i]->turn_count || media[i]->start_ns))
			return -EINVAL;
	for (i = 0; i < MEDIA_MAX; i++)
		if (media[i])
			medium_start(media[i], start_ns);
	return 0;
}

/* the packets that are still on their way */
static int medium_flush(void)
{
	struct sk_buff *skb;
	unsigned long flags;
	unsigned int i;

	local_bh_disable();
	for (i = 0; i < MEDIA_MAX; i++) {
		if (!media[i])
			continue;
		skb_queue_walk(&media[i]->sent, skb)
			medium_record(media[i], skb, medium_now_ns(), HELD);
		skb_queue_walk(&media[i]->ring, skb)
			medium_record(media[i], skb, medium_now_ns(), HELD);
	}
	local_bh_enable();
	local_irq_save(flags);
	if (file.fd >= 0)
		tap_file_write_out(&file);
	local_irq_restore(flags);
	return 0;
}

static int medium_add_line(const char *line)
{
	struct medium *m = kzalloc(sizeof(*m), GFP_KERNEL);
	char name[IFNAMSIZ];
	int err = -EINVAL;

	if (!m)
		return -ENOMEM;
	if (sscanf(line, "add %15s %u %u %u %llu %u %d %u %u %u", name, &m->number, &m->air,
		   &m->turn_count, &m->repeat_ns, &m->flags, &m->overhead, &m->ring_limit,
		   &m->retries, &m->grant_turns) == 10)
		err = medium_add(name, m);
	if (err)
		kfree(m);
	return err;
}

static int medium_command(const char *line, const void *rest, size_t size)
{
	unsigned int number;
	u64 at_ns;

	if (!strncmp(line, "add ", 4))
		return medium_add_line(line);
	if (sscanf(line, "turns %u", &number) == 1)
		return medium_turns(number, rest, size);
	if (sscanf(line, "start %llu", &at_ns) == 1)
		return media_start(at_ns);
	return strncmp(line, "flush", 5) ? -EINVAL : medium_flush();
}

static ssize_t medium_write(struct file *unused, const char __user *text, size_t size, loff_t *pos)
{
	char *line, *end;
	int err;

	if (size > WRITE_MAX)
		return -EINVAL;
	line = vmalloc(size + 1);
	if (!line)
		return -ENOMEM;
	err = copy_from_user(line, text, size) ? -EFAULT : 0;
	if (!err) {
		line[size] = '\0';
		end = memchr(line, '\n', size);
		if (end)
			*end++ = '\0';
		else
			end = line + size;
		err = medium_command(line, end, line + size - end);
	}
	vfree(line);
	return err ?: size;
}

static int medium_show(struct seq_file *s, void *v)
{
	unsigned int i;

	for (i = 0; i < MEDIA_MAX; i++) {
		const struct medium *m = media[i];

		if (m)
			seq_printf(s, "%u %llu %llu %llu %llu %llu %llu %u %u %d\n", i,
				   m->entered_packets, m->entered_bytes, m->arrived_packets,
				   m->arrived_bytes, m->lost_packets, m->lost_bytes,
				   skb_queue_len(&m->ring) + skb_queue_len(&m->sent), m->begun,
				   -file.error);
	}
	return 0;
}

static int medium_open(struct inode *inode, struct file *opened)
{
	return single_open(opened, medium_show, NULL);
}

static const struct proc_ops medium_proc_ops = {
	.proc_open = medium_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_write = medium_write,
	.proc_release = single_release,
};

static int __init medium_init(void)
{
	return proc_create("medium", 0600, NULL, &medium_proc_ops) ? 0 : -ENOMEM;
}
late_initcall(medium_init);
TAP_PATH("medium-tap=", "    The host's file that media write their records to, see\n"
			"    arch/um/drivers/medium_control.c.\n\n");
