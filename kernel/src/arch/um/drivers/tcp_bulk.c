// SPDX-License-Identifier: GPL-2.0
/*
 * TCP bulk: the kernel reads and discards what chosen TCP sockets receive, or keeps them full.
 *
 * Why: a program that reads each socket whenever it has data, or writes whenever it has
 * space, is woken for nearly every packet, which in a guest costs more than all of the
 * packet's way through the kernel. Here a tasklet reads and writes, when such a program
 * would (in virtual time, programs take next to no time): when the softirq that brought
 * the packets is done. TCP acknowledges, opens its window and grows its buffers as for
 * that program. The end of the stream and errors are reported to the program as always,
 * for these come by other callbacks. Without it the agent reads many sockets at ticks, which
 * acknowledges a little later.
 *
 * Where many packets come in one instant, as behind a policer on links without a rate, such a
 * program is woken by the first, and the kernel stops handing on packets to let it run. So the
 * second packet since the last read is not left for the tasklet: else a whole window would be read
 * and acknowledged at once, and what still waits to be read counts against the buffer's growth
 * (tcp_rcv_space_adjust()).
 *
 * Control: write the number of a file descriptor of the caller, a TCP socket, to
 * /proc/tcp_sink or, once it is connected, to /proc/tcp_source. There is no way back but
 * to close the socket.
 */

#include <linux/bvec.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "../kernel/run_ahead.h"

/*
 * The source's bytes come as from a program that calls sendfile() with AT_ONCE bytes of a
 * hole until the socket is full: sendfile() goes by pieces of 16 pages.
 */
#define PIECE_PAGES 16
#define PIECE	    (PIECE_PAGES * PAGE_SIZE)
#define AT_ONCE	    (4UL << 20)

/* Packets that come between two reads. */
#define UNREAD_MOST 2

struct bulk {
	struct list_head ready;
	unsigned int unread;
	struct work_struct work;
	struct sock *sk;
	void (*move)(struct sock *sk);
	void (*destruct)(struct sock *sk);
};

static LIST_HEAD(ready);
static DEFINE_SPINLOCK(ready_lock);
static struct bio_vec zeros[PIECE_PAGES];

/*
 * Like recv(), which after every packet looks at how fast the program reads,
 * and lets the buffer grow; tcp_read_sock() looks only when it has read all
 * that there is.
 */
static int discard(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset, size_t length)
{
	struct sock *sk = desc->arg.data;
	struct tcp_sock *tp = tcp_sk(sk);

	WRITE_ONCE(tp->copied_seq, tp->copied_seq + length);
	tcp_rcv_space_adjust(sk);
	return length;
}

/* Called with the socket locked. */
static void read_all(struct sock *sk)
{
	read_descriptor_t desc = { .count = 1, .arg.data = sk };
	struct bulk *bulk = sk->sk_user_data;

	bulk->unread = 0;
	tcp_read_sock(sk, &desc, discard);
}

/* Called with the socket locked. */
static void write_all(struct sock *sk)
{
	size_t left = AT_ONCE;

	/* What was sent since may have taken the space again: such a program's poll() waits on then. */
	if (!__sk_stream_is_writeable(sk, 1)) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		return;
	}
	for (;;) {
		struct msghdr msg = { .msg_flags = MSG_SPLICE_PAGES | MSG_DONTWAIT | MSG_NOSIGNAL };

		left -= PIECE;
		if (left)
			msg.msg_flags |= MSG_MORE;
		else
			left = AT_ONCE;
		iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, zeros, PIECE_PAGES, PIECE);
		while (msg_data_left(&msg))
			if (tcp_sendmsg_locked(sk, &msg, msg_data_left(&msg)) <= 0)
				return;
	}
}

/* When a system call holds the socket. */
static void move_later(struct work_struct *work)
{
	struct bulk *bulk = container_of(work, struct bulk, work);
	struct sock *sk = bulk->sk;

	lock_sock(sk);
	bulk->move(sk);
	release_sock(sk);
	sock_put(sk);
}

static void move_ready(struct tasklet_struct *unused)
{
	struct bulk *bulk, *next;
	struct sock *sk;
	LIST_HEAD(now);

	spin_lock_bh(&ready_lock);
	list_splice_init(&ready, &now);
	spin_unlock_bh(&ready_lock);
	list_for_each_entry_safe(bulk, next, &now, ready) {
		sk = bulk->sk;
		bh_lock_sock(sk);
		list_del_init(&bulk->ready);
		if (!sock_owned_by_user(sk)) {
			bulk->move(sk);
		} else {
			sock_hold(sk);
			if (!schedule_work(&bulk->work))
				sock_put(sk);
		}
		bh_unlock_sock(sk);
		sock_put(sk);
	}
}

static DECLARE_TASKLET(mover, move_ready);

static void is_ready(struct sock *sk)
{
	struct bulk *bulk = sk->sk_user_data;

	spin_lock_bh(&ready_lock);
	if (list_empty(&bulk->ready)) {
		sock_hold(sk);
		list_add_tail(&bulk->ready, &ready);
	}
	spin_unlock_bh(&ready_lock);
	tasklet_schedule(&mover);
}

/* Called with the socket locked, by what brings the packet: that is its last step. */
static void has_data(struct sock *sk)
{
	struct bulk *bulk = sk->sk_user_data;

	if (++bulk->unread >= UNREAD_MOST && !sock_owned_by_user(sk))
		read_all(sk);
	else
		is_ready(sk);
}

/* As sk_stream_write_space(), which wakes a program. */
static void has_space(struct sock *sk)
{
	if (__sk_stream_is_writeable(sk, 1) && sk->sk_socket) {
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		is_ready(sk);
	}
}

static void bulk_destruct(struct sock *sk)
{
	struct bulk *bulk = sk->sk_user_data;

	bulk->destruct(sk);
	kfree(bulk);
}

static int take_over(int fd, void (*move)(struct sock *sk))
{
	struct socket *socket;
	struct bulk *bulk;
	struct sock *sk;
	int error;

	socket = sockfd_lookup(fd, &error);
	if (!socket)
		return error;
	sk = socket->sk;
	bulk = kzalloc(sizeof(*bulk), GFP_KERNEL);
	error = bulk ? 0 : -ENOMEM;
	if (!sk_is_tcp(sk))
		error = -EPROTOTYPE;
	lock_sock(sk);
	if (!error && sk->sk_user_data)
		error = -EBUSY;
	if (!error && move == write_all && sk->sk_state != TCP_ESTABLISHED)
		error = -ENOTCONN;
	if (error) {
		kfree(bulk);
	} else {
		INIT_LIST_HEAD(&bulk->ready);
		INIT_WORK(&bulk->work, move_later);
		bulk->sk = sk;
		bulk->move = move;
		bulk->destruct = sk->sk_destruct;
		write_lock_bh(&sk->sk_callback_lock);
		sk->sk_user_data = bulk;
		sk->sk_destruct = bulk_destruct;
		if (move == write_all) {
			/* no program waits for memory */
			sk->sk_allocation = GFP_ATOMIC;
			WRITE_ONCE(sk->sk_write_space, has_space);
		} else {
			run_ahead_sink(sk);
			WRITE_ONCE(sk->sk_data_ready, has_data);
		}
		write_unlock_bh(&sk->sk_callback_lock);
		/* what came before, or what there is space for */
		move(sk);
	}
	release_sock(sk);
	sockfd_put(socket);
	return error;
}

static ssize_t control(const char __user *text, size_t length, void (*move)(struct sock *sk))
{
	int fd, error = kstrtoint_from_user(text, length, 10, &fd);

	if (!error)
		error = take_over(fd, move);
	return error ? error : length;
}

static ssize_t sink_write(struct file *file, const char __user *text, size_t length, loff_t *at)
{
	return control(text, length, read_all);
}

static ssize_t source_write(struct file *file, const char __user *text, size_t length, loff_t *at)
{
	return control(text, length, write_all);
}

static const struct proc_ops sink_ops = {
	.proc_open = nonseekable_open,
	.proc_write = sink_write,
};

static const struct proc_ops source_ops = {
	.proc_open = nonseekable_open,
	.proc_write = source_write,
};

static int __init bulk_init(void)
{
	int i;

	for (i = 0; i < PIECE_PAGES; i++)
		bvec_set_page(&zeros[i], ZERO_PAGE(0), PAGE_SIZE, 0);
	if (!proc_create("tcp_sink", 0200, NULL, &sink_ops) ||
	    !proc_create("tcp_source", 0200, NULL, &source_ops))
		return -ENOMEM;
	return 0;
}

late_initcall(bulk_init);
