// SPDX-License-Identifier: GPL-2.0
/* A congestion control for the tests: it follows a null pointer once its window has grown, so that the guest
 * panics in the middle of a flow. */
#include <linux/module.h>
#include <net/tcp.h>

static void panics_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	u32 *nowhere = NULL;

	tcp_reno_cong_avoid(sk, ack, acked);
	if (tcp_snd_cwnd(tcp_sk(sk)) > 40)
		WRITE_ONCE(*nowhere, ack);
}

static struct tcp_congestion_ops panics __read_mostly = {
	.cong_avoid	= panics_cong_avoid,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "panics",
};

static int __init panics_register(void)
{
	return tcp_register_congestion_control(&panics);
}

static void __exit panics_unregister(void)
{
	tcp_unregister_congestion_control(&panics);
}

module_init(panics_register);
module_exit(panics_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a congestion control that panics");
