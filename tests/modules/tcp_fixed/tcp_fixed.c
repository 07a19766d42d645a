// SPDX-License-Identifier: GPL-2.0
/* A congestion control for the tests: a window that never moves. It shows that a module built outside the
 * kernel's tree is loaded and carries traffic; a fixed window makes its throughput known beforehand. */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int window = 20;
module_param(window, uint, 0444);
MODULE_PARM_DESC(window, "congestion window in segments");

static void fixed_init(struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), window);
}

static void fixed_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	tcp_snd_cwnd_set(tcp_sk(sk), window);
}

static u32 fixed_ssthresh(struct sock *sk)
{
	return window;
}

static u32 fixed_undo_cwnd(struct sock *sk)
{
	return window;
}

static struct tcp_congestion_ops fixed __read_mostly = {
	.init		= fixed_init,
	.cong_control	= fixed_cong_control,
	.ssthresh	= fixed_ssthresh,
	.undo_cwnd	= fixed_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "fixed",
};

static int __init fixed_register(void)
{
	return tcp_register_congestion_control(&fixed);
}

static void __exit fixed_unregister(void)
{
	tcp_unregister_congestion_control(&fixed);
}

module_init(fixed_register);
module_exit(fixed_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("a congestion window that never moves");
