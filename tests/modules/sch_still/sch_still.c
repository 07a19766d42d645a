// SPDX-License-Identifier: GPL-2.0
/* A queue for the tests: a FIFO that gives its first `gives` packets and no more. It shows what is said of a
 * qdisc under development that stands still. */
#include <linux/module.h>
#include <net/pkt_sched.h>

static unsigned int gives;
module_param(gives, uint, 0444);
MODULE_PARM_DESC(gives, "packets that it gives before it stands still");

static int still_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (sch->q.qlen >= 100)
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *still_dequeue(struct Qdisc *sch)
{
	unsigned int *given = qdisc_priv(sch);

	return (*given)++ < gives ? qdisc_dequeue_head(sch) : NULL;
}

static struct Qdisc_ops still __read_mostly = {
	.id		= "still",
	.priv_size	= sizeof(unsigned int),
	.enqueue	= still_enqueue,
	.dequeue	= still_dequeue,
	.peek		= qdisc_peek_head,
	.reset		= qdisc_reset_queue,
	.owner		= THIS_MODULE,
};

static int __init still_register(void)
{
	return register_qdisc(&still);
}

static void __exit still_unregister(void)
{
	unregister_qdisc(&still);
}

module_init(still_register);
module_exit(still_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a queue that stands still");
